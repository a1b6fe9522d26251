import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import type { DeliveryId } from '../ids.js'
import { deliveryHeaders, newSigningSecret, sign } from './signature.js'

type Vectors = {
  secret: string
  timestamp: string
  accepted: { name: string; body: string; bytes: number; signature: string }[]
}
// The published vectors of the receiving side: sender and receivers are held to the same file.
const vectors = JSON.parse(
  readFileSync(new URL('../../../webhook-verify/vectors.json', import.meta.url), 'utf8'),
) as Vectors
const { secret } = vectors
const timestamp = Number(vectors.timestamp)

describe('sign', () => {
  it.each(vectors.accepted)('makes the documented signature: $name', ({ body, bytes, signature }) => {
    expect(Buffer.byteLength(body)).toBe(bytes)
    expect(sign({ secret, timestamp, body })).toBe(signature)
    expect(sign({ secret, timestamp, body: Buffer.from(body) })).toBe(signature)
  })

  it('gives a retry with the same body another signature', () => {
    const [{ body, signature }] = vectors.accepted as [(typeof vectors.accepted)[0]]
    expect(sign({ secret, timestamp: timestamp + 60, body })).not.toBe(signature)
  })

  it.each([1.5, -1, Number.NaN])('signs no timestamp of %p', (bad) => {
    expect(() => sign({ secret, timestamp: bad, body: '{}' })).toThrow(
      new RangeError('timestamp must be whole seconds'),
    )
  })

  it('signs the first second of 1970, as any other', () => {
    expect(sign({ secret, timestamp: 0, body: '{}' })).toMatch(/^sha256=[0-9a-f]{64}$/)
  })
})

it('an attempt has exactly the documented headers', () => {
  const [{ body, signature }] = vectors.accepted as [(typeof vectors.accepted)[0]]
  const deliveryId = '981' as DeliveryId
  expect(deliveryHeaders({ secret, timestamp, body, deliveryId, eventType: 'webhook.ping' })).toEqual({
    'content-type': 'application/json',
    'x-service-event': 'webhook.ping',
    'x-service-delivery': '981',
    'x-service-timestamp': '1767225600',
    'x-service-signature': signature,
  })
})

it('a signing secret is whsec_ and 43 base64url characters, never the same twice', () => {
  const secrets = Array.from({ length: 50 }, newSigningSecret)
  expect(new Set(secrets).size).toBe(50)
  for (const one of secrets) expect(one).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/)
})
