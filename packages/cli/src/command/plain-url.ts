import { hasInvisible } from '@signet/pages/visible'

/**
 * Parses a URL if it is written plainly, or returns null. The URL parser drops tabs, turns backslashes into slashes and skips any
 * number of slashes before the host, so the request could go to a different address than the one written.
 */
export function plainUrl(text: string): URL | null {
  if (!/^https?:\/\/[^/]/i.test(text) || /[\s\\]/.test(text) || hasInvisible(text)) return null
  try {
    return new URL(text)
  } catch {
    return null
  }
}
