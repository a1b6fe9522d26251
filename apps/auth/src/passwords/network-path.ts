const IPV4 = /^\d+(?:\.\d+){3}$/
const IPV6 = /^((?:[\da-f]{1,4}:){3}[\da-f]{1,4})::\/64$/

/** Bits of a prefix: what a provider has, then its regions, and what a company, a household and one line get. */
const IPV6_PREFIXES = [32, 40, 48, 56, 64]

/**
 * The networks around a client, the widest first. Whoever has one of them has all inside it, so that turns are by these, and not by
 * the narrowest alone: a /32 of IPv6 has four billion of those.
 */
export function networkPath({ key }: { readonly key: string }): string[] {
  if (IPV4.test(key)) {
    const bytes = key.split('.')
    return [2, 3, 4].map((count) => bytes.slice(0, count).join('.'))
  }
  const groups = IPV6.exec(key)?.[1]?.split(':')
  // Whatever the header that an operator named tells clients apart by. The space keeps it from being a prefix of an address.
  if (groups === undefined) return [`client ${key}`]
  const digits = groups.map((group) => group.padStart(4, '0')).join('')
  return IPV6_PREFIXES.map((bits) => digits.slice(0, bits / 4))
}
