import { BlockList, isIP } from 'node:net'

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
]

const NOT_PUBLIC_IPV6 = [
  '2001::/23', // Teredo, ORCHID, benchmarking
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: embeds an IPv4 address that relays would contact
  '3ffe::/16', // 6bone
  '3fff::/20', // documentation
]

// Global unicast; loopback, link-local, unique-local, multicast and similar ranges lie outside it.
const GLOBAL_UNICAST = '2000::/3'
// Mapped addresses and NAT64. The last 32 bits are the IPv4 address that would be contacted.
const EMBEDS_IPV4 = ['::ffff:0:0/96', '64:ff9b::/96']

const routable = listOf([GLOBAL_UNICAST, ...EMBEDS_IPV4])
const notPublic = listOf([
  ...NOT_PUBLIC_IPV4,
  ...NOT_PUBLIC_IPV6,
  ...EMBEDS_IPV4.flatMap((prefix) => NOT_PUBLIC_IPV4.map((range) => embedded(prefix, range))),
])

/**
 * True if the text is an IP address that a receiver on the public internet can have. False for anything else, including
 * names, zone ids and unusual spellings: only the canonical forms that resolvers and URL parsers produce are accepted.
 */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !notPublic.check(address, 'ipv4')
    case 6:
      // A zone id refers to an interface of this machine.
      return !address.includes('%') && routable.check(address, 'ipv6') && !notPublic.check(address, 'ipv6')
    default:
      return false
  }
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [base = '', bits] = range.split('/')
    list.addSubnet(base, Number(bits), isIP(base) === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

/** An IPv4 range below a prefix of 96 bits: `64:ff9b::/96` and `10.0.0.0/8` become `64:ff9b::10.0.0.0/104`. */
function embedded(prefix: string, range: string): string {
  const [base = '', bits] = range.split('/')
  return `${prefix.replace(/(0:0)?\/96$/, '')}${base}/${96 + Number(bits)}`
}
