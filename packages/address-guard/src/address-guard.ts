import { isIP, type LookupFunction } from 'node:net'
import pTimeout from 'p-timeout'
import { isPublicAddress } from './ip-ranges.js'
import { dnsResolver, systemResolver, type ResolvedAddress, type Resolver } from './resolver.js'

/** The name does not resolve, or does not resolve in time. */
export class NameNotResolvedError extends Error {
  override name = 'NameNotResolvedError'
}

/** At least one address of the host is not public. Contains neither host nor address, because it is logged. */
export class BlockedAddressError extends Error {
  override name = 'BlockedAddressError'
}

export type AddressGuardOptions = {
  /** Allows private addresses. For development and tests; not allowed in production. */
  allowPrivateTargets?: boolean
  resolver?: Resolver
  /** Time limit for a DNS lookup, in milliseconds. */
  resolveTimeoutMs?: number
}

const RESOLVE_TIMEOUT_MS = 3000

/**
 * Decides which addresses a delivery may go to (apps/webhooks/docs/specification.md#url-policy). The same code checks a URL at
 * registration and every connection at delivery, so the two always agree on what is public.
 */
export class AddressGuard {
  readonly #allowPrivateTargets: boolean
  readonly #resolve: Resolver
  readonly #timeoutMs: number

  constructor({ allowPrivateTargets = false, resolver, resolveTimeoutMs }: AddressGuardOptions = {}) {
    this.#allowPrivateTargets = allowPrivateTargets
    this.#resolve = resolver ?? (allowPrivateTargets ? systemResolver() : dnsResolver())
    this.#timeoutMs = resolveTimeoutMs ?? RESOLVE_TIMEOUT_MS
  }

  get allowsPrivateTargets(): boolean {
    return this.#allowPrivateTargets
  }

  /** All addresses of a host name or literal (IPv6 without brackets). Throws unless every one is allowed. */
  async addressesOf(host: string): Promise<ResolvedAddress[]> {
    // The system's resolver takes an empty name to mean this machine.
    if (host === '') throw new NameNotResolvedError('there is no name')
    const family = isIP(host)
    const found =
      family === 0
        ? await this.#resolveInTime(host)
        : [{ address: host, family: family === 4 ? 4 : 6 } as const]
    if (found.length === 0) throw new NameNotResolvedError('the name has no address')
    // One private address among public ones is a rebinding attempt or a mistake. Reject both.
    if (!found.every(({ address }) => this.#allows(address)))
      throw new BlockedAddressError('an address is not public')
    return found
  }

  /**
   * Throws for a literal that is not allowed. `net.connect` does not call `lookup` for literals, so callers must check here
   * first.
   */
  requireAllowedLiteral(host: string): void {
    if (isIP(host) !== 0 && !this.#allows(host)) throw new BlockedAddressError('the address is not public')
  }

  /** A `lookup` for `net.connect` and `tls.connect` that returns only checked addresses. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.addressesOf(hostname).then(
      (found) => {
        const wanted = found.filter(
          ({ family }) => !options.family || family === familyNumber(options.family),
        )
        const [first] = wanted
        // With autoSelectFamily, Node asks for all addresses.
        if (options.all) callback(null, wanted)
        else if (first) callback(null, first.address, first.family)
        else callback(new NameNotResolvedError('the name has no address of this family'), '', 0)
      },
      (error: Error) => callback(error, '', 0),
    )
  }

  #allows(address: string): boolean {
    return this.#allowPrivateTargets || isPublicAddress(address)
  }

  async #resolveInTime(host: string): Promise<ResolvedAddress[]> {
    const milliseconds = this.#timeoutMs
    const message = new Error(`no answer in ${milliseconds} ms`)
    try {
      return await pTimeout(this.#resolve(host), { milliseconds, message })
    } catch (cause) {
      throw new NameNotResolvedError('the name does not resolve', { cause })
    }
  }
}

const familyNumber = (family: number | 'IPv4' | 'IPv6') =>
  family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : family
