import { ADDRCONFIG } from 'node:dns'
import { lookup, Resolver as DnsResolver } from 'node:dns/promises'

export type ResolvedAddress = { address: string; family: 4 | 6 }

/**
 * Turns a host name into all its addresses; the one place where names are resolved, and what tests replace. Rejects or
 * gives an empty list when there are none; may take as long as it likes, the guard has the deadline.
 */
export type Resolver = (hostname: string) => Promise<ResolvedAddress[]>

/**
 * Asks the DNS for A and AAAA, without the hosts file and without search domains: in a cluster a search domain would
 * turn a public name into a name of the cluster. Not the operating system's `getaddrinfo` either, whose few threads one
 * slow name server could hold.
 */
export function dnsResolver({ servers }: { servers?: readonly string[] } = {}): Resolver {
  const dns = new DnsResolver({ timeout: 1000, tries: 2 })
  if (servers) dns.setServers(servers)
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([dns.resolve4(hostname), dns.resolve6(hostname)])
    const found: ResolvedAddress[] = [
      ...(v4.status === 'fulfilled' ? v4.value : []).map((address) => ({ address, family: 4 as const })),
      ...(v6.status === 'fulfilled' ? v6.value : []).map((address) => ({ address, family: 6 as const })),
    ]
    // Some name servers fail on AAAA for names that have only A: one family with addresses is an answer.
    if (found.length === 0 && v4.status === 'rejected') throw v4.reason
    return found
  }
}

/** The operating system's view, hosts file included. For development, where receivers are called `localhost`. */
export function systemResolver(): Resolver {
  return async (hostname) => {
    const found = await lookup(hostname, { all: true, hints: ADDRCONFIG })
    return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }))
  }
}
