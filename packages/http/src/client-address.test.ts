import { expect, it } from '@jest/globals'
import type { Request } from 'express'
import { clientAddress } from './client-address.js'

const req = (remoteAddress: string, forwarded?: string) =>
  ({ socket: { remoteAddress }, get: () => forwarded }) as unknown as Request

it.each([
  ['believes no header without proxies', '10.0.0.9', '1.1.1.1', 0, '10.0.0.9'],
  [
    'takes the address that our one proxy saw, not what the client claims',
    '10.0.0.9',
    '6.6.6.6, 1.1.1.1',
    1,
    '1.1.1.1',
  ],
  ['skips two proxies', '10.0.0.9', '6.6.6.6, 1.1.1.1, 10.0.0.8', 2, '1.1.1.1'],
  ['takes the first when the chain is shorter than promised', '10.0.0.9', '1.1.1.1', 3, '1.1.1.1'],
  ['falls back to the socket for garbage', '10.0.0.9', 'unknown', 1, '10.0.0.9'],
  ['unwraps IPv4-mapped addresses', '::ffff:10.0.0.9', undefined, 0, '10.0.0.9'],
])('%s', (_, socket, forwarded, hops, expected) => {
  expect(clientAddress(req(socket, forwarded), hops)).toBe(expected)
})
