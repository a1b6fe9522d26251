const IPV4 = /^\d+(?:\.\d+){3}$/
const IPV6 = /^((?:[\da-f]{1,4}:){3}[\da-f]{1,4})::\/64$/

/** How many bits of an IPv6 address name a network: a provider, one of its regions, a company, a household, a single line. */
const IPV6_PREFIXES = [32, 40, 48, 56, 64]

/**
 * The networks that a client is in, the widest first, from its key as `clientNetwork` gives it or as a header named it. Whoever owns a network also owns all the smaller ones inside it: someone with a /32
 * of IPv6 has four billion /64s. Whatever is divided among /64s alone, they could take nearly all of it. So turns at hashing, reserves of
 * messages and guesses are divided among the wider networks first.
 */
export function networkPath({ key }: { readonly key: string }): string[] {
  if (IPV4.test(key)) {
    const bytes = key.split('.')
    return [2, 3, 4].map((count) => bytes.slice(0, count).join('.'))
  }
  const groups = IPV6.exec(key)?.[1]?.split(':')
  // The operator named a header that tells clients apart, and this is its value. No address begins with a word and a space, so it cannot
  // be mistaken for part of one.
  if (groups === undefined) return [`client ${key}`]
  const digits = groups.map((group) => group.padStart(4, '0')).join('')
  return IPV6_PREFIXES.map((bits) => digits.slice(0, bits / 4))
}
