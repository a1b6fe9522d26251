import { hasInvisible } from '@signet/pages/visible'

/**
 * The URL that a text is, or null. The parser drops tabs, turns backslashes into slashes and takes the host from behind any
 * number of slashes: the request would go to another address than the one written.
 */
export function plainUrl(text: string): URL | null {
  if (!/^https?:\/\/[^/]/i.test(text) || /[\s\\]/.test(text) || hasInvisible(text)) return null
  try {
    return new URL(text)
  } catch {
    return null
  }
}
