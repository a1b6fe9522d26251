import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import type { DeliveryId } from '../ids.js'
import { deliveryHeaders, newSigningSecret, signDelivery, type DeliveryContent } from './signature.js'

type Vectors = {
  secret: string
  timestamp: string
  accepted: { name: string; body: string; bytes: number; signature: string }[]
}
// The published test vectors of the receiving side, so that sender and receivers pass the same file.
const vectors = JSON.parse(
  readFileSync(new URL('../../../webhook-verify/vectors.json', import.meta.url), 'utf8'),
) as Vectors
const { secret } = vectors
const timestamp = Number(vectors.timestamp)

const attempt = {
  deliveryId: '981' as DeliveryId,
  eventId: `evt_${'0'.repeat(32)}` as const,
  eventType: 'webhook.ping',
}
const sign = (content: Pick<DeliveryContent, 'secret' | 'timestamp' | 'body'>) =>
  deliveryHeaders({ ...content, ...attempt })['x-service-signature']

describe('X-Service-Signature', () => {
  it.each(vectors.accepted)('is the documented one: $name', ({ body, bytes, signature }) => {
    expect(Buffer.byteLength(body)).toBe(bytes)
    expect(sign({ secret, timestamp, body })).toBe(signature)
    expect(sign({ secret, timestamp, body: Buffer.from(body) })).toBe(signature)
  })

  it('of a retry with the same body is another one', () => {
    const [{ body, signature }] = vectors.accepted as [(typeof vectors.accepted)[0]]
    expect(sign({ secret, timestamp: timestamp + 60, body })).not.toBe(signature)
  })

  it.each([1.5, -1, Number.NaN])('is not made for a timestamp of %p', (bad) => {
    expect(() => sign({ secret, timestamp: bad, body: '{}' })).toThrow(
      new RangeError('timestamp must be whole seconds'),
    )
  })

  it('is made for the first second of 1970, as for any other', () => {
    expect(sign({ secret, timestamp: 0, body: '{}' })).toMatch(/^sha256=[0-9a-f]{64}$/)
  })
})

it('an attempt has exactly the documented headers', () => {
  const [{ body, signature }] = vectors.accepted as [(typeof vectors.accepted)[0]]
  expect(deliveryHeaders({ secret, timestamp, body, ...attempt })).toEqual({
    'content-type': 'application/json',
    'x-service-event': 'webhook.ping',
    'x-service-delivery': '981',
    'x-service-timestamp': '1767225600',
    'x-service-signature': signature,
    'webhook-id': attempt.eventId,
    'webhook-timestamp': '1767225600',
    'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/) as unknown,
  })
})

describe('the published library of Standard Webhooks', () => {
  const timestamp = Math.floor(Date.now() / 1000)
  const message = {
    timestamp,
    body: '{"name":"Zoë – 会議 😀"}',
    deliveryId: '981' as DeliveryId,
    eventId: `evt_${'1'.repeat(32)}` as const,
    eventType: 'webhook.ping',
  }
  const signed = (secrets: { secret: string; nextSecret?: string | null }) => ({
    ...deliveryHeaders({ ...message, ...secrets }),
  })

  it('verifies with every secret as it is shown', () => {
    for (const secret of Array.from({ length: 50 }, newSigningSecret))
      expect(new Webhook(secret).verify(message.body, signed({ secret }))).toEqual(JSON.parse(message.body))
  })

  it('verifies with either of two secrets, while the other header has one signature only', () => {
    const [secret, nextSecret] = [newSigningSecret(), newSigningSecret()]
    const headers = signed({ secret, nextSecret })
    for (const one of [secret, nextSecret]) new Webhook(one).verify(message.body, headers)
    expect(() => new Webhook(newSigningSecret()).verify(message.body, headers)).toThrow(
      'No matching signature',
    )
    expect(headers['x-service-signature']).toBe(sign({ ...message, secret }))
    expect(() => new Webhook(nextSecret).verify(message.body, signed({ secret, nextSecret: null }))).toThrow(
      'No matching signature',
    )
  })

  it('verifies with a secret of the earlier, URL-safe form once it is written in the standard alphabet', () => {
    const earlier = `whsec_${Buffer.from(Array.from({ length: 32 }, (_, i) => 255 - i)).toString('base64url')}`
    expect(earlier).toMatch(/[-_].*[-_]/)
    const standard = `whsec_${Buffer.from(earlier.slice('whsec_'.length), 'base64url').toString('base64')}`
    new Webhook(standard).verify(message.body, signed({ secret: earlier }))
  })
})

describe('signing a body', () => {
  const KIB = 1024
  const content = (bytes: number) => ({
    ...attempt,
    secret: newSigningSecret(),
    nextSecret: newSigningSecret(),
    timestamp,
    body: Buffer.alloc(bytes, '0123456789abc'),
  })

  it.each([0, 1, 1024 * KIB, 1024 * KIB + 1, 1280 * KIB, 1300 * KIB])(
    'of %i bytes, at once or in slices, gives the same headers',
    async (bytes) => {
      const large = content(bytes)
      expect(await signDelivery(large)).toEqual(deliveryHeaders(large))
    },
  )

  it('lets other work run between the slices of a large one', async () => {
    let isSigned = false
    let turns = 0
    const count = () => {
      if (isSigned) return
      turns += 1
      setImmediate(count)
    }
    setImmediate(count)
    await signDelivery(content(2048 * KIB))
    isSigned = true
    expect(turns).toBeGreaterThanOrEqual(7)
  })
})

it('a signing secret is whsec_ and 32 bytes in standard base64, never the same twice', () => {
  const secrets = Array.from({ length: 50 }, newSigningSecret)
  expect(new Set(secrets).size).toBe(50)
  for (const one of secrets) expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
})
