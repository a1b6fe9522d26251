import { isIP } from 'node:net'
import { parseUrl } from '@signet/address-guard/parse-url'

/** A URL, divided as browsers read it (WHATWG URL) into the parts that redirects are compared by. */
export type Target = {
  readonly scheme: string
  /** Lower case. Null for schemes of applications, whose URLs have no host in a network. */
  readonly host: string | null
  /** Empty for the default port of the scheme. */
  readonly port: string
  /** For schemes of applications, everything between the colon and the query. */
  readonly path: string
  /** Without the question mark. */
  readonly query: string
}

/** Schemes whose URLs have hosts. */
const NETWORK = new Set(['http', 'https', 'ws', 'wss', 'ftp'])
/** Schemes that run code or open local files instead of calling an application. */
const NEVER = new Set([
  'javascript',
  'data',
  'vbscript',
  'file',
  'blob',
  'about',
  'filesystem',
  'view-source',
])
/** Slashes, backslashes and control characters that are encoded at least once. Only a later server would decode them. */
const HIDDEN_SEPARATOR = /%(25)*(2f|5c|[01][0-9a-f]|7f)/i
/** The same for characters that begin another part of a URL, and for dots, which change a path. */
const ENCODED_DELIMITER = /%(25)*(3f|23|2e)/i
/** A host of labels that are not empty. */
const PLAIN_HOST = /^(?!.*\.\.)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i

export const hasNetworkHost = (scheme: string): boolean => NETWORK.has(scheme)
export const isForbiddenScheme = (scheme: string): boolean => NEVER.has(scheme)
export const hasHiddenSeparator = (path: string): boolean => HIDDEN_SEPARATOR.test(path)
/** A path with encoded delimiters is only allowed if a pattern names it literally. */
export const hasEncodedDelimiter = (path: string): boolean => ENCODED_DELIMITER.test(path)

/**
 * Parses a target. Returns null if two parsers could read it differently, or if it hides where it leads: attackers use URLs about whose
 * host we and the browser disagree. `alsoHost` is another accepted spelling of a host.
 */
export function readTarget(raw: string, alsoHost?: string): Target | null {
  if (/[\p{Cc}\s\\]/u.test(raw) || parseUrl(raw) === null) return null
  const url = new URL(raw)
  const scheme = url.protocol.slice(0, -1)
  const sent = /^[^:/?#]+:(?:\/\/(?<authority>[^/?#]*))?(?<path>[^?#]*)/.exec(raw)
  const { authority, path = '' } = sent?.groups ?? {}
  if (NEVER.has(scheme) || hasHiddenSeparator(`${authority ?? ''}${path}`) || authority?.includes('@'))
    return null
  const query = url.search.slice(1)
  const read = NETWORK.has(scheme) ? url.pathname : pathOfApplication(url)
  const written = NETWORK.has(scheme) || authority === undefined ? path : `//${authority}${path}`
  // If encoded dots make up a segment, the parser removes it together with the segment that `..` refers to.
  if (hasEncodedDelimiter(written) && read !== written) return null
  if (!NETWORK.has(scheme)) return { scheme, host: null, port: '', path: read, query }
  const host = authority?.replace(/:\d*$/, '')
  if (host === undefined || !isPlain(host, url.hostname, alsoHost)) return null
  return { scheme, host: url.hostname, port: url.port, path: read, query }
}

/** The whole path matters: `myapp:a`, `myapp://a` and `myapp:///a` are three different targets. */
export const pathOfApplication = ({ href, search, hash, protocol }: URL): string =>
  href.slice(protocol.length, href.length - search.length - hash.length).replace(/[?#]+$/, '')

/**
 * The parser maps many spellings to the same host, such as numbers in any base, wide letters and percent encoding. Only the plain spelling
 * is accepted.
 */
function isPlain(sent: string, hostname: string, alsoHost: string | undefined): boolean {
  if (isAddress(hostname)) return sent === hostname
  return PLAIN_HOST.test(sent) || (alsoHost !== undefined && sent.toLowerCase() === alsoHost.toLowerCase())
}

/** Whether a host is an IP address; one of version 6 is in brackets. */
export const isAddress = (host: string): boolean => isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\])$/
export const isLoopbackAddress = (host: string): boolean => LOOPBACK.test(host)
