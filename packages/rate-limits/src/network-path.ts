const IPV4 = /^\d+(?:\.\d+){3}$/
const IPV6 = /^((?:[\da-f]{1,4}:){3}[\da-f]{1,4})::\/64$/

/** Prefix lengths, in bits, at which IPv6 networks are assigned: a provider, one of its regions, a company, a household, a single line. */
const IPV6_PREFIXES = [32, 40, 48, 56, 64]

/**
 * The networks that a client is in, from the widest to the narrowest, from its key as `clientNetwork` returns it or as a header named
 * it. The owner of a network also owns all smaller ones inside it: someone with an IPv6 /32 has four billion /64s, and could take
 * nearly all of anything that is divided among /64s alone. So turns at hashing, reserves of messages and guesses are divided among the
 * wider networks first.
 */
export function networkPath({ key }: { readonly key: string }): string[] {
  if (IPV4.test(key)) {
    const bytes = key.split('.')
    return [2, 3, 4].map((count) => bytes.slice(0, count).join('.'))
  }
  const groups = IPV6.exec(key)?.[1]?.split(':')
  // This is the value of a header that the operator chose to tell clients apart. No address begins with a word and a space, so the
  // value cannot be mistaken for part of one.
  if (groups === undefined) return [`client ${key}`]
  const digits = groups.map((group) => group.padStart(4, '0')).join('')
  return IPV6_PREFIXES.map((bits) => digits.slice(0, bits / 4))
}
