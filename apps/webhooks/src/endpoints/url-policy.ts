import { isIP } from 'node:net'
import { BlockedAddressError, NameNotResolvedError, type AddressGuard } from '@signet/address-guard'
import { parseUrl } from '@signet/address-guard/parse-url'
import { hasInvisible } from '@signet/pages/visible'
import type { PortRange } from '../config/port-ranges.js'
import { RuleError, type Rule } from '../errors/rule-error.js'

/** The policy rejects the URL of an endpoint. The message is for the caller: it names the rule and reveals nothing about our network. */
export class UrlRefusedError extends RuleError {
  constructor(rule: Extract<Rule, `url.${string}`>, options?: ConstructorParameters<typeof RuleError>[1]) {
    super(rule, options)
  }
}

export type UrlPolicyOptions = {
  guard: AddressGuard
  /** Ports that a receiver may use. `parsePortRanges` parses the setting. */
  allowedPorts: readonly PortRange[]
  /** Hosts of this service and of the identity server, in any spelling. Deliveries to ourselves are rejected. */
  ownHosts?: readonly string[]
}

/** A URL as given, and in normalized form, which is used to compare URLs. */
export type AcceptedUrl = { url: string; href: string }

const MAX_LENGTH = 2048
const RESERVED_SUFFIXES = [
  'localhost',
  'local',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'home.arpa',
  'test',
  'invalid',
  'onion',
]

/** Decides which URLs may be registered (docs/specification.md#url-policy). Applies when an endpoint is created or its URL changes. */
export class UrlPolicy {
  readonly #guard: AddressGuard
  readonly #allowedPorts: readonly PortRange[]
  readonly #ownHosts: ReadonlySet<string>

  constructor({ guard, allowedPorts, ownHosts = [] }: UrlPolicyOptions) {
    this.#guard = guard
    this.#allowedPorts = allowedPorts
    this.#ownHosts = new Set(ownHosts.map(comparableHost))
  }

  /** Checks a URL and returns it. Resolves the host, which can take 3 seconds, so call it before taking locks. Throws `UrlRefusedError`. */
  async accept(raw: string): Promise<AcceptedUrl> {
    const url = this.#parse(raw)
    this.#checkPort(url)
    this.#checkHost(url)
    await this.#checkAddresses(url)
    return { url: raw, href: url.href }
  }

  #parse(raw: string): URL {
    // In code points, as the database and JSON Schema count.
    const { length } = [...raw]
    if (length === 0 || length > MAX_LENGTH) throw new UrlRefusedError('url.length')
    // Checked on the raw text: the parser accepts `https:example.com`, drops tabs and converts backslashes.
    const scheme = this.#guard.allowsPrivateTargets ? /^https?:\/\//i : /^https:\/\//i
    if (!scheme.test(raw)) throw new UrlRefusedError('url.scheme')
    // People would read a different address than the one that is called, and a lone surrogate cannot be stored as it was sent.
    if (/[\s\\]/.test(raw) || hasInvisible(raw)) throw new UrlRefusedError('url.invisible')
    // The parser accepts any number of slashes before the host, so people would read a different address than the one that is called.
    if (/^[^/]*\/{3}/.test(raw)) throw new UrlRefusedError('url.slashes')
    const url = parseUrl(raw)
    if (url === null || comparableHost(url.hostname) === '') throw new UrlRefusedError('url.invalid')
    if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(raw)) {
      throw new UrlRefusedError('url.credentials')
    }
    if (raw.includes('#')) throw new UrlRefusedError('url.fragment')
    return url
  }

  #checkPort(url: URL): void {
    // http is allowed only together with private targets, and then also on its default port.
    if (url.protocol === 'http:' && url.port === '') return
    const port = Number(url.port || 443)
    if (!this.#allowedPorts.some(({ from, to }) => port >= from && port <= to)) {
      throw new UrlRefusedError('url.port', { values: { port } })
    }
  }

  #checkHost(url: URL): void {
    if (this.#guard.allowsPrivateTargets) return
    const host = comparableHost(url.hostname)
    if (this.#ownHosts.has(host)) throw new UrlRefusedError('url.own')
    if (isIP(host) !== 0) return // checked with the resolved addresses
    const reserved = RESERVED_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`))
    // Two dots at the end are one too many as well.
    if (!host.includes('.') || url.hostname.includes('..') || reserved) throw new UrlRefusedError('url.host')
  }

  async #checkAddresses(url: URL): Promise<void> {
    try {
      await this.#guard.addressesOf(comparableHost(url.hostname))
    } catch (error) {
      // Uses one text for both, so that it does not reveal which names exist in the networks that our resolver sees.
      if (error instanceof NameNotResolvedError || error instanceof BlockedAddressError)
        throw new UrlRefusedError('url.addresses', { cause: error })
      throw error
    }
  }
}

/** Lower case, without the brackets of an IPv6 literal and without a trailing dot, which names the same host. */
function comparableHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}
