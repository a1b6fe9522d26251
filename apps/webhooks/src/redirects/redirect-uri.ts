import { parseUrl } from '@signet/address-guard/parse-url'
// Redirect URI rules (docs/specification.md#redirect-uris). All checks look at the raw string: URL parsers turn http://0x7f.1/ or
// http://2130706433/ into 127.0.0.1, and the URI that is compared must be the one that is sent.

const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]))(:[0-9]{1,5})?(\/|\?|$)/i
const HTTPS = /^https:\/\/([^/?]+)/i
const RESPONSE_PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description']

export const isLoopback = (uri: string): boolean => LOOPBACK.test(uri)

/** Returns what is wrong with the syntax of a redirect URI, as the end of a sentence, or null if it is valid. */
export function redirectUriProblem(uri: string): string | null {
  if (uri.length > 2048) return 'is longer than 2048 characters'
  if (!/^[\x21-\x7e]+$/.test(uri)) return 'must consist of printable ASCII characters'
  if (/[\\#*]/.test(uri)) return 'must not contain a backslash, a fragment or a wildcard'
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?]*)/i.exec(uri)?.[1]
  if (authority?.includes('@')) return 'must not contain user information'
  if (!isLoopback(uri) && !isHttps(uri)) return 'must be https, or http on 127.0.0.1, localhost or [::1]'
  const query = parseUrl(uri)?.searchParams
  if (query === undefined) return 'is not a URL'
  const taken = RESPONSE_PARAMETERS.find((name) => query.has(name))
  return taken === undefined ? null : `must not have the query parameter ${taken}`
}

const isHttps = (uri: string): boolean => HTTPS.test(uri)

/** Returns true if `requested` is the registered URI. A loopback URI may have any port (RFC 8252 section 7.3). */
export function matchesRegistered(requested: string, registered: string): boolean {
  if (requested === registered) return true
  const asked = loopbackParts(requested)
  const known = loopbackParts(registered)
  return asked !== null && known !== null && asked.origin === known.origin && asked.rest === known.rest
}

function loopbackParts(uri: string): { origin: string; rest: string } | null {
  const match = LOOPBACK.exec(uri)
  if (!match || redirectUriProblem(uri) !== null) return null
  const [, origin = '', port = ''] = match
  return { origin: origin.toLowerCase(), rest: uri.slice(origin.length + port.length) }
}

/** Appends response parameters to the raw string: an existing query must survive byte for byte. */
export function withParameters(
  uri: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const query = Object.entries(parameters)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
  const separator = !uri.includes('?') ? '?' : /[?&]$/.test(uri) ? '' : '&'
  return `${uri}${separator}${query}`
}

/** The host that the browser goes to after the decision. Null for an application on the reader's own computer. */
export const redirectHost = (uri: string): string | null => (isLoopback(uri) ? null : new URL(uri).host)
