import { domainToASCII } from 'node:url'
import { parseUrl } from '@signet/address-guard/parse-url'
import {
  hasEncodedDelimiter,
  hasHiddenSeparator,
  hasNetworkHost,
  isAddress,
  isForbiddenScheme,
  isLoopbackAddress,
  pathOfApplication,
  type Target,
} from './target.js'
import { isPlainPath } from './plain-path.js'
import { isLiteral, matches, wildcards, type Wildcards } from './wildcards.js'

/** One entry of the redirect allow-list, in the same parts as a target. */
export type Pattern = {
  readonly scheme: string
  /** The labels of a host name, or an IP address as text; null for schemes of applications. */
  readonly host: readonly Wildcards[] | string | null
  readonly port: string
  readonly path: Wildcards
  /** Null if any query is allowed. */
  readonly query: Wildcards | null
}

const FORM = /^(?<scheme>[a-z][a-z0-9+.-]*):(?:\/\/(?<authority>[^/?]*))?(?<path>[^?]*)(?:\?(?<query>.*))?$/i
const AUTHORITY = /^(?<host>\[[^\]]*\]|[^:]*)(?::(?<port>\d{1,5}|\*))?$/
const ANY_PORT = '*'

/**
 * Parses a pattern such as `https://*.example.com/app/**`. `*` stands for any characters within one label of the host or one part of the
 * path (between `/` or `.`), or for any port; `**` stands for any characters of the path. In the query, both stand for any characters. A
 * pattern without `?` matches only targets without a query, unless its path ends in a wildcard. Throws an Error that says what is wrong.
 */
export function parsePattern(text: string): Pattern {
  if (/[\p{Cc}\s\\]/u.test(text))
    throw new Error('must not contain spaces, control characters or backslashes')
  if (text.includes('#')) throw new Error('must not have a fragment, which servers never see')
  const { scheme: sentScheme, authority, path = '', query } = FORM.exec(text)?.groups ?? {}
  if (sentScheme === undefined) throw new Error('must begin with a scheme, as in https://example.com/**')
  const scheme = sentScheme.toLowerCase()
  if (isForbiddenScheme(scheme)) throw new Error('must not have a scheme that runs code or opens files')
  if (authority?.includes('@')) throw new Error('must not have a user name')
  if (hasHiddenSeparator(path)) throw new Error('must not have encoded separators in the path')
  if (/[[\]{}]/.test(path)) throw new Error('must not have wildcards other than * and **')
  const place = hasNetworkHost(scheme)
    ? networkPlace(scheme, authority, path)
    : { host: null, port: '', path: applicationPath(scheme, authority, path) }
  requireLiteral(place.host !== null || authority === undefined ? path : `//${authority}${path}`, place.path)
  return {
    ...place,
    scheme,
    path: wildcards(place.path, './'),
    query: query === undefined && place.path.endsWith('*') ? null : wildcards(searchOf(query)),
  }
}

/** Whether the pattern covers a target. Parts are matched separately, so no wildcard reaches from one into the next. */
export function matchesPattern(pattern: Pattern, target: Target): boolean {
  return (
    pattern.scheme === target.scheme &&
    matchesHost(pattern.host, target.host) &&
    (pattern.port === ANY_PORT || pattern.port === target.port) &&
    matchesPath(pattern.path, target.path) &&
    (pattern.query === null || matches(pattern.query, target.query))
  )
}

/** A wildcard never matches a path that a later server may read differently, because the author of the pattern did not allow that. */
const matchesPath = (pattern: Wildcards, path: string): boolean =>
  (isLiteral(pattern) || isPlainPath(path)) && matches(pattern, path)

function matchesHost(pattern: Pattern['host'], host: string | null): boolean {
  if (pattern === null || host === null) return pattern === host
  if (typeof pattern === 'string') return pattern === host
  const labels = host.split('.')
  if (isAddress(host) || labels.length !== pattern.length) return false
  return pattern.every((label, index) => matches(label, labels[index] ?? ''))
}

/** A path that a later server may read differently may only be in a pattern without wildcards, spelled as browsers spell it. */
function requireLiteral(written: string, read: string): void {
  if (written.includes('*') && !isPlainPath(written))
    throw new Error(
      'must not have encoded ?, #, ; or ., bytes that are not UTF-8 or ..; in a path with wildcards',
    )
  if (hasEncodedDelimiter(written) && read !== written)
    throw new Error('must have its path as browsers write it, where it has encoded ?, # or .')
}

function networkPlace(scheme: string, authority: string | undefined, path: string) {
  const { host = '', port = '' } = AUTHORITY.exec(authority ?? '')?.groups ?? {}
  if (host === '') throw new Error('must name a host, and may name a port, as in http://localhost:3000/*')
  const base = `${scheme}://host${port === '' || port === ANY_PORT ? '' : `:${port}`}`
  if (parseUrl(base) === null) throw new Error('must have a port of at most 65535')
  const url = new URL(`${base}${path}`)
  return { host: hostOf(host), port: port === ANY_PORT ? ANY_PORT : url.port, path: url.pathname }
}

function hostOf(host: string): Wildcards[] | string {
  const address = parseUrl(`http://${host}`)?.hostname ?? ''
  if (isAddress(address)) {
    if (address !== host.toLowerCase() || !isLoopbackAddress(address))
      throw new Error('must not have an IP address other than loopback (127.0.0.0/8 or [::1])')
    return address
  }
  const labels = host.split('.').map(labelOf)
  // The last label decides whether this is a name at all, and who owns it.
  if (!/^[a-z0-9-]*[a-z][a-z0-9-]*$/.test(labels.at(-1) ?? ''))
    throw new Error('must end its host in a name without wildcard, such as .com or localhost')
  return labels.map((label) => wildcards(label))
}

function labelOf(label: string): string {
  if (label.includes('**')) throw new Error('must have ** in its path only: * stands for one label of a host')
  // A label made of digits, such as the first one of 123.example.com, would be read as an address if converted alone.
  const isPlain = label.includes('*') || /^[a-z0-9]+$/i.test(label)
  const ascii = isPlain ? label.toLowerCase() : domainToASCII(label)
  if (!/^[a-z0-9*]([a-z0-9*-]*[a-z0-9*])?$/.test(ascii)) throw new Error('must name a host that can exist')
  return ascii
}

function applicationPath(scheme: string, authority: string | undefined, path: string): string {
  const text = `${scheme}:${authority === undefined ? '' : `//${authority}`}${path}`
  const url = parseUrl(text)
  if (url === null) throw new Error('must be a URL')
  return pathOfApplication(url)
}

/** The query as browsers spell it. */
const searchOf = (query = ''): string => new URL(`https://host/?${query}`).search.slice(1)
