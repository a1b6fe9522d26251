import { BlockList, isIP } from 'node:net'

/** Matches a mapped address (RFC 4291 section 2.5.5.2) or one behind NAT64 (RFC 6052), which has an IPv4 client in the last 32 bits. */
const IPV4_INSIDE = /^(?:::ffff|64:ff9b:):(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})$/

/** Normalizes an IP address: two texts name the same address exactly if their results are equal. Returns undefined for anything else. */
export function canonicalAddress(text: string): string | undefined {
  const [address = ''] = text.split('%', 1)
  switch (isIP(address)) {
    case 4:
      return address
    case 6: {
      const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
      return ipv4Inside(canonical) ?? canonical
    }
    default:
      return undefined
  }
}

function ipv4Inside(canonical: string): string | undefined {
  const match = IPV4_INSIDE.exec(canonical)
  if (!match) return undefined
  const [high, low] = [match[1] ?? '0', match[2] ?? '0'].map((group) => parseInt(group, 16)) as [
    number,
    number,
  ]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** The network of one client: an IPv4 address, or an IPv6 /64, within which clients choose addresses freely. */
export function networkOf(canonical: string): string {
  if (!canonical.includes(':')) return canonical
  const [head = '', tail] = canonical.split('::')
  const [left, right] = [head, tail ?? ''].map((half) => (half === '' ? [] : half.split(':'))) as [
    string[],
    string[],
  ]
  const gap = Array<string>(tail === undefined ? 0 : 8 - left.length - right.length).fill('0')
  return `${[...left, ...gap, ...right].slice(0, 4).join(':')}::/64`
}

/** The key by which requests from an address are counted. */
export function clientNetwork(address: string): string {
  const canonical = canonicalAddress(address)
  return canonical === undefined ? address : networkOf(canonical)
}

const PRIVATE = new BlockList()
for (const [network, prefix] of [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  PRIVATE.addSubnet(network, prefix, 'ipv4')
PRIVATE.addAddress('::1', 'ipv6')
PRIVATE.addSubnet('fc00::', 7, 'ipv6')
PRIVATE.addSubnet('fe80::', 10, 'ipv6')

/** Whether an address does not identify anyone on the internet: loopback, private and link-local addresses. */
export const isPrivateAddress = (canonical: string): boolean =>
  PRIVATE.check(canonical, canonical.includes(':') ? 'ipv6' : 'ipv4')
