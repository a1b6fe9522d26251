import { describe, expect, it } from '@jest/globals'
import { clientNetwork } from './network.js'
import { networkPath } from './network-path.js'

const pathOf = (address: string) => networkPath({ key: clientNetwork(address) })

describe('the networks around a client', () => {
  it.each([
    ['192.0.2.7', ['192.0', '192.0.2', '192.0.2.7']],
    ['::ffff:192.0.2.7', ['192.0', '192.0.2', '192.0.2.7']],
    [
      '2001:db8:12:3456:7:8:9:a',
      ['20010db8', '20010db800', '20010db80012', '20010db8001234', '20010db800123456'],
    ],
    ['2001:db8::1', ['20010db8', '20010db800', '20010db80000', '20010db8000000', '20010db800000000']],
    ['::1', ['00000000', '0000000000', '000000000000', '00000000000000', '0000000000000000']],
    ['', ['client ']],
    ['somebody', ['client somebody']],
    ['20010db8', ['client 20010db8']],
    ['192.0', ['client 192.0']],
    ['1.2.3.4.5', ['client 1.2.3.4.5']],
  ])('of %j', (address, path) => {
    expect(pathOf(address)).toEqual(path)
  })

  it('tell all networks apart, and end as deep as their kind', () => {
    const addresses = [
      '1.2.3.4',
      '1.2.34.5',
      '1.23.4.5',
      '::1',
      '1::',
      '1:2:3:4::',
      '1:2:3:34::',
      '1:2:33:4::',
    ]
    const ends = addresses.map((address) => pathOf(address).join('/'))
    expect(new Set(ends).size).toBe(addresses.length)
  })
})
