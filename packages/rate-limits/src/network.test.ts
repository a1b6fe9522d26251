import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { canonicalAddress, clientNetwork, isPrivateAddress, networkOf } from './network.js'

describe('canonicalAddress', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:c000:201', '192.0.2.1'],
    ['::ffff:0.0.0.1', '0.0.0.1'],
    ['64:ff9b::192.0.2.1', '192.0.2.1'],
    ['64:ff9b::0.0.0.1', '0.0.0.1'],
    ['2001:0DB8::0:1', '2001:db8::1'],
    ['2001:db8:0:0:0:0:0:1', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::1', '::1'],
    ['::', '::'],
  ])('of %s is %s', (text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical)
  })

  it.each(['', 'localhost', '192.0.2', '192.0.2.01', '0x7f.0.0.1', '1.2.3.4.5', '[::1]', '::1::', '12345::'])(
    'is nothing of %j',
    (text) => {
      expect(canonicalAddress(text)).toBeUndefined()
    },
  )

  const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), {
    minLength: 8,
    maxLength: 8,
  })

  it('is the same for every spelling of an IPv6 address, and names its /64', () => {
    fc.assert(
      fc.property(groups, (address) => {
        const long = address.map((group) => group.toString(16).padStart(4, '0').toUpperCase()).join(':')
        const short = address.map((group) => group.toString(16)).join(':')
        const canonical = canonicalAddress(short) ?? ''
        expect(canonicalAddress(long)).toBe(canonical)
        if (!canonical.includes(':')) return
        const prefix = address.slice(0, 4).map((group) => group.toString(16))
        expect(networkOf(canonical)).toBe(`${prefix.join(':')}::/64`)
      }),
    )
  })
})

describe('networkOf', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})

describe('clientNetwork', () => {
  it.each([
    ['2001:DB8:1:2:0:0:0:9', '2001:db8:1:2::/64'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['', ''],
  ])('of %j is %j', (address, network) => {
    expect(clientNetwork(address)).toBe(network)
  })
})

describe('isPrivateAddress', () => {
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.255.255',
    '192.168.0.1',
    '100.64.0.1',
    '::1',
    'fd00::1',
    'fe80::1',
  ])('is true of %s', (address) => {
    expect(isPrivateAddress(address)).toBe(true)
  })

  it.each(['192.0.2.1', '172.32.0.1', '11.0.0.1', '2001:db8::1', 'fec0::1'])('is false of %s', (address) => {
    expect(isPrivateAddress(address)).toBe(false)
  })
})
