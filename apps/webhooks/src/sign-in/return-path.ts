import { parseUrl } from '@signet/address-guard/parse-url'

/** Together with the rest of the state, it must fit into the redirect URL that a sign-in page accepts. */
const MAX_LENGTH = 1000

/**
 * Returns the path and query of an address below the base URL, or null for anything that would lead elsewhere: other sites, `//host`,
 * `/\host`, and paths outside the base URL.
 */
export function returnPath(wanted: string, baseUrl: string): string | null {
  if (!wanted.startsWith('/')) return null
  const base = new URL(baseUrl)
  const url = parseUrl(base.origin + wanted)
  if (!url) return null
  const below = base.pathname.replace(/\/?$/, '/')
  const path = url.pathname + url.search
  return `${url.pathname}/`.startsWith(below) && !path.startsWith('//') && path.length <= MAX_LENGTH
    ? path
    : null
}
