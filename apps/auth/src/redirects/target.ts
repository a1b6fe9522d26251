import { isIP } from 'node:net'
import { parseUrl } from '@signet/address-guard/parse-url'

/** A URL in the parts that redirects are compared by, as browsers read it (WHATWG URL). */
export type Target = {
  readonly scheme: string
  /** Lower case; null for schemes of applications, which have no host that a network knows. */
  readonly host: string | null
  /** Empty for the default port of the scheme. */
  readonly port: string
  /** For schemes of applications all between the colon and the query. */
  readonly path: string
  /** Without the question mark. */
  readonly query: string
}

/** Schemes whose URLs have hosts. */
const NETWORK = new Set(['http', 'https', 'ws', 'wss', 'ftp'])
/** They run code or open local files instead of calling an application. */
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
/** Slashes, backslashes and control characters, encoded once or more: only a later server would decode them. */
const HIDDEN_SEPARATOR = /%(25)*(2f|5c|[01][0-9a-f]|7f)/i
/** The same of what begins another part of a URL, and of dots, which change a path. */
const ENCODED_DELIMITER = /%(25)*(3f|23|2e)/i
/** Consists of labels that are not empty. */
const PLAIN_HOST = /^(?!.*\.\.)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i

export const hasNetworkHost = (scheme: string): boolean => NETWORK.has(scheme)
export const isForbiddenScheme = (scheme: string): boolean => NEVER.has(scheme)
export const hasHiddenSeparator = (path: string): boolean => HIDDEN_SEPARATOR.test(path)
/** A path that has them is allowed only where it is named literally. */
export const hasEncodedDelimiter = (path: string): boolean => ENCODED_DELIMITER.test(path)

/**
 * Parses a target. Null if two parsers could read it differently or it hides where it leads: attackers use URLs whose host we and the
 * browser disagree about. `alsoHost` is another accepted spelling of a host.
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
  // The parser removes encoded dots that make up a segment, and what they point at.
  if (hasEncodedDelimiter(written) && read !== written) return null
  if (!NETWORK.has(scheme)) return { scheme, host: null, port: '', path: read, query }
  const host = authority?.replace(/:\d*$/, '')
  if (host === undefined || !isPlain(host, url.hostname, alsoHost)) return null
  return { scheme, host: url.hostname, port: url.port, path: read, query }
}

/** All of it counts: `myapp:a`, `myapp://a` and `myapp:///a` are three different targets. */
export const pathOfApplication = ({ href, search, hash, protocol }: URL): string =>
  href.slice(protocol.length, href.length - search.length - hash.length).replace(/[?#]+$/, '')

/**
 * The parser maps many spellings to one host: numbers in any base, wide letters, percent encoding. Only the plain
 * spelling is accepted.
 */
function isPlain(sent: string, hostname: string, alsoHost: string | undefined): boolean {
  if (isAddress(hostname)) return sent === hostname
  return PLAIN_HOST.test(sent) || (alsoHost !== undefined && sent.toLowerCase() === alsoHost.toLowerCase())
}

/** Whether a host is an IP address, in brackets if it is one of version 6. */
export const isAddress = (host: string): boolean => isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\])$/
export const isLoopbackAddress = (host: string): boolean => LOOPBACK.test(host)
