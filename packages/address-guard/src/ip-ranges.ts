import { isIP } from 'node:net'

// Special-purpose ranges (IANA registries, RFC 6890) and a cloud's host address: no public receiver can have these.
const NOT_PUBLIC_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier NAT; also 100.100.100.200, a metadata service
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local; also 169.254.169.254, the metadata services
  '172.16.0.0/12', // private
  '192.0.0.0/24', // IETF protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, with broadcast
  '168.63.129.16/32', // a cloud's host address in public space
].map(ipv4Range)

// Global unicast is 2000::/3; loopback, link-local, unique-local, multicast and the like lie outside it.
const GLOBAL_UNICAST = ipv6Range('2000::/3')
const NOT_PUBLIC_IPV6 = [
  '2001::/23', // Teredo, ORCHID, benchmarking
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: embeds an IPv4 address that relays would contact
  '3ffe::/16', // 6bone
  '3fff::/20', // documentation
].map(ipv6Range)

// The last 32 bits are the IPv4 address that would be contacted.
const IPV4_MAPPED = ipv6Range('::ffff:0:0/96')
const NAT64 = ipv6Range('64:ff9b::/96')

type Range = { first: bigint; last: bigint }
const within = (address: bigint, { first, last }: Range) => address >= first && address <= last

/**
 * True if the text is an IP address that a receiver on the public internet can have. False for anything else, including
 * names, zone ids and unusual spellings: only the canonical forms that resolvers and URL parsers produce are accepted.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return isPublicIpv4(ipv4ToBigint(address))
    case 6:
      return isPublicIpv6(ipv6ToBigint(address))
    default:
      return false
  }
}

function isPublicIpv4(address: bigint): boolean {
  return !NOT_PUBLIC_IPV4.some((range) => within(address, range))
}

function isPublicIpv6(address: bigint | null): boolean {
  if (address === null) return false
  if (within(address, IPV4_MAPPED) || within(address, NAT64)) return isPublicIpv4(address & 0xffffffffn)
  return within(address, GLOBAL_UNICAST) && !NOT_PUBLIC_IPV6.some((range) => within(address, range))
}

function ipv4ToBigint(address: string): bigint {
  return address.split('.').reduce((value, octet) => value * 256n + BigInt(Number(octet)), 0n)
}

/** Null for an address with a zone id, which refers to an interface of this machine. */
function ipv6ToBigint(address: string): bigint | null {
  if (address.includes('%')) return null
  const [head = '', tail] = address.split('::')
  const left = hextets(head)
  const right = tail === undefined ? [] : hextets(tail)
  const zeros = Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0)
  return [...left, ...zeros, ...right].reduce((value, hextet) => value * 65536n + BigInt(hextet), 0n)
}

/** The 16-bit groups on one side of `::`. A dotted tail becomes two of them. */
function hextets(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [parseInt(group, 16)]
    const value = Number(ipv4ToBigint(group))
    return [Math.floor(value / 65536), value % 65536]
  })
}

function ipv4Range(cidr: string): Range {
  const [base = '', bits = ''] = cidr.split('/')
  return range(ipv4ToBigint(base), 32n - BigInt(bits))
}

function ipv6Range(cidr: string): Range {
  const [base = '', bits = ''] = cidr.split('/')
  return range(ipv6ToBigint(base) ?? 0n, 128n - BigInt(bits))
}

function range(first: bigint, freeBits: bigint): Range {
  return { first, last: first + (1n << freeBits) - 1n }
}
