import { isIP } from 'node:net'
import { AppError } from '@signet/errors'
import { BlockedAddressError, NameNotResolvedError, type AddressGuard } from '@signet/address-guard'

/** A subscription url that the policy refuses. The message is for the caller and names the rule, not our network. */
export class UrlRefusedError extends AppError {
  constructor(reason: string, cause?: unknown) {
    super('invalid', 'bad_request', `url ${reason}`, { cause })
  }
}

export type PortRange = { from: number; to: number }

export type UrlPolicyOptions = {
  guard: AddressGuard
  /** Ports a receiver may have; `parsePortRanges` reads the setting. */
  allowedPorts: readonly PortRange[]
  /** Hosts of this service and of the identity server, in any spelling; deliveries to ourselves are refused. */
  ownHosts?: readonly string[]
}

/** A url as it was given, and in the parsed spelling by which two urls are compared. */
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

/** Which urls may be registered (contract E.8 rows 1 to 5). Used on create and on a change of the url. */
export class UrlPolicy {
  readonly #guard: AddressGuard
  readonly #allowedPorts: readonly PortRange[]
  readonly #ownHosts: ReadonlySet<string>

  constructor({ guard, allowedPorts, ownHosts = [] }: UrlPolicyOptions) {
    this.#guard = guard
    this.#allowedPorts = allowedPorts
    this.#ownHosts = new Set(ownHosts.map(comparableHost))
  }

  /** Resolves the host, so it can take 3 seconds: call it before taking any lock. Throws `UrlRefusedError`. */
  async accept(raw: string): Promise<AcceptedUrl> {
    const url = this.#parse(raw)
    this.#checkPort(url)
    this.#checkHost(url)
    await this.#checkAddresses(url)
    return { url: raw, href: url.href }
  }

  #parse(raw: string): URL {
    if (raw.length === 0 || raw.length > MAX_LENGTH)
      throw new UrlRefusedError('must have 1 to 2048 characters')
    // On the raw text, because the parser mends `https:example.com`, drops tabs and turns backslashes round.
    const scheme = this.#guard.allowsPrivateTargets ? /^https?:\/\//i : /^https:\/\//i
    if (!scheme.test(raw)) throw new UrlRefusedError('must start with https://')
    // Cs: half a surrogate pair, which cannot be stored as it was sent.
    if (/[\p{Cc}\p{Cs}\s\\]/u.test(raw))
      throw new UrlRefusedError('must not contain spaces, control characters or backslashes')
    if (!URL.canParse(raw)) throw new UrlRefusedError('is not a valid URL')
    const url = new URL(raw)
    if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(raw)) {
      throw new UrlRefusedError('must not contain credentials')
    }
    if (raw.includes('#')) throw new UrlRefusedError('must not contain a fragment')
    return url
  }

  #checkPort(url: URL): void {
    // http itself is only let in together with private targets, and then on its own port too.
    if (url.protocol === 'http:' && url.port === '') return
    const port = Number(url.port || 443)
    if (!this.#allowedPorts.some(({ from, to }) => port >= from && port <= to)) {
      throw new UrlRefusedError(`has port ${port}, which is not allowed`)
    }
  }

  #checkHost(url: URL): void {
    if (this.#guard.allowsPrivateTargets) return
    const host = comparableHost(url.hostname)
    if (this.#ownHosts.has(host)) throw new UrlRefusedError('must not point to this service')
    if (isIP(host) !== 0) return // judged with the resolved addresses
    const reserved = RESERVED_SUFFIXES.some((suffix) => host === suffix || host.endsWith(`.${suffix}`))
    if (!host.includes('.') || host.includes('..') || reserved)
      throw new UrlRefusedError('must have a public host name')
  }

  async #checkAddresses(url: URL): Promise<void> {
    try {
      await this.#guard.addressesOf(comparableHost(url.hostname))
    } catch (error) {
      if (error instanceof NameNotResolvedError)
        throw new UrlRefusedError('has a host that does not resolve', error)
      if (error instanceof BlockedAddressError)
        throw new UrlRefusedError('must resolve to public addresses only', error)
      throw error
    }
  }
}

/** Reads `443,1024-65535` (contract G.3, `WEBHOOKS_ALLOWED_PORTS`); throws `RangeError` for anything else. */
export function parsePortRanges(list: string): PortRange[] {
  return list.split(',').map((entry) => {
    const [, from = '', to = from] = /^([0-9]{1,5})(?:-([0-9]{1,5}))?$/.exec(entry.trim()) ?? []
    const range = { from: Number(from || NaN), to: Number(to || NaN) }
    if (!(range.from >= 1 && range.from <= range.to && range.to <= 65535)) {
      throw new RangeError('ports must be a list like 443,1024-65535')
    }
    return range
  })
}

/** Lower case, without the brackets of an IPv6 literal and without the root dot, which names the same host. */
function comparableHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
}
