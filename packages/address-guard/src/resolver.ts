import { ADDRCONFIG } from 'node:dns'
import { lookup, Resolver as DnsResolver } from 'node:dns/promises'
import pTimeout from 'p-timeout'

export type ResolvedAddress = { address: string; family: 4 | 6 }

/**
 * Resolves a host name to all its addresses. Names are resolved nowhere else, so tests can replace this. Rejects or returns an empty
 * list if there are none. Needs no timeout: the guard has one.
 */
export type Resolver = (hostname: string) => Promise<ResolvedAddress[]>

/** How much later than A records AAAA records may arrive. Both are asked for at the same time. */
const LATER_AAAA_MS = 500

/**
 * Queries DNS for A and AAAA records, without the hosts file and search domains: in a cluster a search domain could turn a
 * public name into an internal one. Does not use `getaddrinfo`, whose few threads a slow name server could block
 * (decision 0013).
 */
export function dnsResolver({ servers }: { servers?: readonly string[] } = {}): Resolver {
  const dns = new DnsResolver({ timeout: 1000, tries: 2 })
  if (servers) dns.setServers(servers)
  return async (hostname) => {
    const asked6 = dns.resolve6(hostname).catch(() => [])
    const [v4] = await Promise.allSettled([dns.resolve4(hostname)])
    const addresses4 = v4.status === 'fulfilled' ? v4.value : []
    // Some name servers fail on AAAA for names that only have A records, or do not answer. Addresses of one family are enough.
    const addresses6 =
      addresses4.length === 0
        ? await asked6
        : await pTimeout(asked6, { milliseconds: LATER_AAAA_MS, fallback: () => [] })
    const found: ResolvedAddress[] = [
      ...addresses4.map((address) => ({ address, family: 4 as const })),
      ...addresses6.map((address) => ({ address, family: 6 as const })),
    ]
    if (found.length === 0 && v4.status === 'rejected') throw v4.reason
    return found
  }
}

/** Uses the operating system's resolver, including the hosts file. For development, where receivers are on `localhost`. */
export function systemResolver(): Resolver {
  return async (hostname) => {
    const found = await lookup(hostname, { all: true, hints: ADDRCONFIG })
    return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
  }
}
