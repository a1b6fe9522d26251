import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { describe, expect, it } from '@jest/globals'
import { isPublicAddress } from './ip-ranges.js'

// Every special-purpose range, compared with another library's parser and arithmetic.
const NOT_PUBLIC = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24'],
  ...['203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4', '168.63.129.16/32'],
  ...['::/128', '::1/128', '::/96', 'fe80::/10', 'fec0::/10', 'fc00::/7', 'ff00::/8', '100::/64'],
  ...['64:ff9b:1::/48', '5f00::/16', '2001::/23', '2001:db8::/32', '2002::/16', '3ffe::/16', '3fff::/20'],
]
type Address = ipaddr.IPv4 | ipaddr.IPv6
// Parsed once: each of the thousands of addresses below is compared with all of them.
const ranges = NOT_PUBLIC.map((range) => ipaddr.parseCIDR(range))
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')
const EMBEDS_IPV4 = ['::ffff:0:0/96', '64:ff9b::/96'].map((range) => ipaddr.parseCIDR(range))
const isIn = (ip: Address) => (range: [Address, number]) => ip.kind() === range[0].kind() && ip.match(range)

function oracle(ip: Address): boolean {
  if (ip instanceof ipaddr.IPv6) {
    if (EMBEDS_IPV4.some(isIn(ip))) return oracle(ipaddr.fromByteArray(ip.toByteArray().slice(12)))
    if (!isIn(ip)(GLOBAL_UNICAST)) return false
  }
  return !ranges.some(isIn(ip))
}

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map((a) => [...a])
const prefixes = [...ranges, ...EMBEDS_IPV4]
/** Addresses in and just outside each range: the first and last ones, and random ones with the same leading bits. */
const nearRanges = fc
  .record({ prefix: fc.constantFrom(...prefixes), noise: bytes(16), edge: fc.constantFrom(-1, 0, 1, 2) })
  .map(({ prefix: [base, bits], noise, edge }) => {
    const size = base.toByteArray().length * 8
    const first = BigInt(`0x${Buffer.from(base.toByteArray()).toString('hex')}`)
    const span = 1n << BigInt(size - bits)
    const random = BigInt(`0x${Buffer.from(noise).toString('hex')}`) % span
    const value = [first + random, first - 1n, first + span, first + span - 1n][edge + 1] ?? first
    const wrapped = ((value % (1n << BigInt(size))) + (1n << BigInt(size))) % (1n << BigInt(size))
    return [...Buffer.from(wrapped.toString(16).padStart(size / 4, '0'), 'hex')]
  })
const addresses = fc.oneof(bytes(4), bytes(16), nearRanges).map((octets) => ipaddr.fromByteArray(octets))

describe('isPublicAddress', () => {
  it('agrees with an independent reading of the table for any address, in short and in long spelling', () => {
    fc.assert(
      fc.property(addresses, (ip) => {
        const expected = oracle(ip)
        const spellings = [ip.toString(), ip.toNormalizedString()]
        expect(spellings.map(isPublicAddress)).toEqual([expected, expected])
      }),
      { numRuns: 20_000 },
    )
  })

  it('treats an IPv4 address the same when it is wrapped in IPv6, dotted or in hexadecimal', () => {
    fc.assert(
      fc.property(bytes(4), ([a = 0, b = 0, c = 0, d = 0]) => {
        const dotted = `${a}.${b}.${c}.${d}`
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
        for (const wrapped of [
          `::ffff:${dotted}`,
          `::ffff:${hex}`,
          `64:ff9b::${dotted}`,
          `64:ff9b::${hex}`,
        ]) {
          expect([wrapped, isPublicAddress(wrapped)]).toEqual([wrapped, isPublicAddress(dotted)])
        }
      }),
    )
  })

  it('never calls an address public that the other library knows as private, local or reserved', () => {
    const special = [
      'private',
      'loopback',
      'linkLocal',
      'uniqueLocal',
      'multicast',
      'broadcast',
      'unspecified',
    ]
    fc.assert(
      fc.property(addresses, (ip) => {
        if (special.includes(ip.range())) expect(isPublicAddress(ip.toString())).toBe(false)
      }),
      { numRuns: 5000 },
    )
  })

  it.each(['1.1.1.1', '8.8.8.8', '172.15.255.255', '172.32.0.0', '2606:4700::1111', '64:ff9b::808:808'])(
    'lets %s pass',
    (address) => {
      expect(isPublicAddress(address)).toBe(true)
    },
  )

  it.each([
    ...['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254', '::', '::1', '::7f00:1'],
    ...['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:a9fe:a9fe', '64:ff9b::a00:1', '2002:7f00:1::'],
    ...[
      'fe80::1%eth0',
      '2606:4700::1111%eth0',
      '127.1',
      '0x7f000001',
      '2130706433',
      '010.8.8.8',
      '8.8.8.8.',
      '',
    ],
    ...['localhost', '[::1]', ' 8.8.8.8', '8.8.8.8/32'],
  ])('stops %j', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })
})
