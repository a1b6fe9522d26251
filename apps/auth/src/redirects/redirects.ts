import { isIP } from 'node:net'
import { matchesGlob, parseGlob } from './glob.js'

/** AUTH_SITE_URL and AUTH_URI_ALLOW_LIST (contract 14.2). */
export type RedirectConfig = {
  readonly siteUrl: string
  readonly uriAllowList: readonly string[]
  /** A page of this server itself, allowed with any query. */
  readonly ownPage?: string | undefined
}

/** A target as it was sent, taken apart without the URL parser's mending of odd spellings. */
type Target = {
  raw: string
  url: URL
  /** Host as it was sent: undefined when there is no `//`, IPv6 literals with brackets. */
  rawHost: string | undefined
}

const NEVER = new Set(['javascript:', 'data:', 'vbscript:', 'file:'])
const PLAIN_HOST = /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/
const LOOPBACK_NAME = /^(localhost|.+\.localhost|127\.0\.0\.1|\[::1\])$/

/**
 * Whether a browser may be sent to `candidate` with tokens (contract 14.2): the site itself, or a target on the
 * allow-list. Never throws: what cannot be read is not allowed.
 */
export function isAllowedRedirect(config: RedirectConfig, candidate: string): boolean {
  const target = readTarget(candidate)
  if (target === null) return false
  return (
    isSite(config.siteUrl, target) ||
    isListed(config.uriAllowList, target) ||
    (config.ownPage !== undefined && candidate.split('?', 1)[0] === config.ownPage)
  )
}

function readTarget(raw: string): Target | null {
  // Browsers and servers disagree about these, and a disagreement about the host is the attack.
  if (/[\p{Cc}\s\\]/u.test(raw) || !URL.canParse(raw)) return null
  const url = new URL(raw)
  const authority = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#]*)/.exec(raw)?.[1]
  if (NEVER.has(url.protocol) || authority?.includes('@')) return null
  return { raw, url, rawHost: authority?.replace(/:\d*$/, '') }
}

function isSite(siteUrl: string, { url, rawHost }: Target): boolean {
  const site = readTarget(siteUrl)
  if (!site || rawHost === undefined || url.protocol !== site.url.protocol) return false
  if (url.hostname !== site.url.hostname || !isSpelledPlainly(rawHost, url, site.rawHost)) return false
  return url.port === site.url.port || LOOPBACK_NAME.test(url.hostname)
}

/** The parser makes one host of many spellings; only plain ones, or the very one of the setting, count. */
function isSpelledPlainly(rawHost: string, url: URL, siteHost: string | undefined): boolean {
  if (isLiteral(url.hostname)) return rawHost === url.hostname
  return PLAIN_HOST.test(rawHost) || rawHost.toLowerCase() === siteHost?.toLowerCase()
}

function isListed(allowList: readonly string[], target: Target): boolean {
  if (!mayBeListed(target)) return false
  const text = target.raw.split('#', 1)[0] ?? ''
  return allowList.some((pattern) => matchesGlob(parseGlob(pattern), text))
}

function mayBeListed({ url, rawHost }: Target): boolean {
  const isWeb = url.protocol === 'http:' || url.protocol === 'https:'
  if (rawHost === undefined) return !isWeb
  if (/^\d+$/.test(rawHost)) return false
  if (isLiteral(url.hostname)) return rawHost === url.hostname && isLoopback(url.hostname)
  return !isWeb || PLAIN_HOST.test(rawHost)
}

const isLiteral = (hostname: string) => isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0

const isLoopback = (literal: string) => literal === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(literal)
