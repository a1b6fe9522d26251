import { createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { Webhook } from 'standardwebhooks'
import { isSigned, parseSigningKey, signedHeaders } from './index.js'

// The example that the libraries of the specification are tested with.
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const KEY = parseSigningKey(SECRET)
const BODY = Buffer.from('{"test": 2432232314}')
const HEADERS = {
  'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  'webhook-timestamp': '1614265330',
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}
const NOW = new Date(1_614_265_330_000)
const options = { keys: [KEY], now: NOW }

describe('isSigned', () => {
  it('knows the example of the specification', () => {
    expect(isSigned(BODY, HEADERS, options)).toBe(true)
  })

  it('takes one right signature among several, and one of several keys, so that secrets can be rotated', () => {
    const signature = `v1,${'A'.repeat(43)}= v1a,other ${HEADERS['webhook-signature']}`
    const keys = [parseSigningKey(secretOf(32)), KEY]
    expect(isSigned(BODY, { ...HEADERS, 'webhook-signature': signature }, { keys, now: NOW })).toBe(true)
  })

  it.each<[string, Partial<typeof HEADERS>]>([
    ['another id', { 'webhook-id': 'msg_other' }],
    ['another time', { 'webhook-timestamp': '1614265331' }],
    ['no signature', { 'webhook-signature': '' }],
    ['another version', { 'webhook-signature': HEADERS['webhook-signature'].replace('v1', 'v2') }],
    ['a cut signature', { 'webhook-signature': HEADERS['webhook-signature'].slice(0, 20) }],
    ['a time that is none', { 'webhook-timestamp': '1e9' }],
  ])('refuses %s', (_name, changed) => {
    expect(isSigned(BODY, { ...HEADERS, ...changed }, options)).toBe(false)
  })

  it('refuses another body, a missing header and another key', () => {
    expect(isSigned(Buffer.from('{"test": 2432232315}'), HEADERS, options)).toBe(false)
    expect(isSigned(BODY, { ...HEADERS, 'webhook-id': undefined }, options)).toBe(false)
    expect(isSigned(BODY, HEADERS, { keys: [Buffer.alloc(32)], now: NOW })).toBe(false)
    expect(isSigned(BODY, HEADERS, { keys: [], now: NOW })).toBe(false)
  })

  /** A signature over any id and time, even ones that no sender would use. */
  const signedOver = (id: string | undefined, timestamp: string | undefined) =>
    `v1,${createHmac('sha256', KEY).update(`${id}.${timestamp}.`).update(BODY).digest('base64')}`

  it('refuses a missing header even when its absence was signed', () => {
    const unnamed = { ...HEADERS, 'webhook-id': undefined }
    const time = HEADERS['webhook-timestamp']
    expect(isSigned(BODY, { ...unnamed, 'webhook-signature': signedOver(undefined, time) }, options)).toBe(
      false,
    )
    const untimed = { ...HEADERS, 'webhook-timestamp': undefined }
    const signature = signedOver(HEADERS['webhook-id'], undefined)
    expect(isSigned(BODY, { ...untimed, 'webhook-signature': signature }, options)).toBe(false)
    expect(isSigned(BODY, { ...HEADERS, 'webhook-signature': undefined }, options)).toBe(false)
  })

  it.each(['1614265330 ', ' 1614265330', '+1614265330', '1614265330.0', '1614265330x', '0001614265330', ''])(
    'refuses the time %j though it is signed: a time is one to twelve digits',
    (timestamp) => {
      const id = HEADERS['webhook-id']
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signedOver(id, timestamp),
      }
      expect(isSigned(BODY, headers, options)).toBe(false)
      const plain = { ...headers, 'webhook-timestamp': '001614265330' }
      plain['webhook-signature'] = signedOver(id, '001614265330')
      expect(isSigned(BODY, plain, options)).toBe(true)
    },
  )

  it('refuses a good signature from more than five minutes ago or ahead', () => {
    const at = (seconds: number) => {
      const headers = signedHeaders([KEY], {
        id: HEADERS['webhook-id'],
        body: BODY.toString(),
        at: new Date(NOW.getTime() + seconds * 1000),
      })
      return isSigned(BODY, headers, options)
    }
    expect([-301, -300, 300, 301].map(at)).toEqual([false, true, true, false])
  })
})

it('signs the same example, whatever the part of the second', () => {
  const at = new Date(1_614_265_330_999)
  expect(signedHeaders([KEY], { id: HEADERS['webhook-id'], body: BODY.toString(), at })).toEqual(HEADERS)
})

describe('the published library', () => {
  const library = new Webhook(SECRET)
  const [id, body] = ['msg_1', JSON.stringify({ name: 'Zoë – 会議 😀', nested: { a: [1, null] } })]

  it('takes what is signed here, and refuses it when a byte or the time is another', () => {
    const headers = { ...signedHeaders([KEY], { id, body, at: new Date() }) }
    expect(library.verify(body, headers)).toEqual(JSON.parse(body))
    expect(() => library.verify(`${body} `, headers)).toThrow('No matching signature found')
    const late = { ...signedHeaders([KEY], { id, body, at: new Date(Date.now() - 400_000) }) }
    expect(() => library.verify(body, late)).toThrow('too old')
  })

  it('takes what is signed with several keys when it has one of them', () => {
    const other = parseSigningKey(secretOf(32))
    const signed = { ...signedHeaders([other, KEY], { id, body: Buffer.from(body), at: new Date() }) }
    expect(library.verify(body, signed)).toEqual(JSON.parse(body))
    expect(new Webhook(secretOf(32)).verify(body, signed)).toEqual(JSON.parse(body))
    expect(() => new Webhook(secretOf(33)).verify(body, signed)).toThrow('No matching signature found')
  })

  it('signs what is taken here', () => {
    const at = new Date()
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': library.sign(id, at, body),
    }
    expect(isSigned(Buffer.from(body), headers, { keys: [KEY], now: at })).toBe(true)
    expect(isSigned(Buffer.from(`${body} `), headers, { keys: [KEY], now: at })).toBe(false)
  })
})

function secretOf(bytes: number): string {
  return `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`
}

it.each([24, 64])('takes a secret of %d bytes', (bytes) => {
  expect(parseSigningKey(secretOf(bytes))).toEqual(Buffer.alloc(bytes, 7))
})

it.each([
  '',
  'whsec_',
  'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'whsec_short',
  'whsec_c2hvcnQ=',
  `whsec_${'!'.repeat(32)}`,
  ` ${SECRET}`,
  `${SECRET}\n`,
  `${SECRET}===`,
  secretOf(23),
  secretOf(65),
])('refuses %p as a secret, and does not repeat it', (secret) => {
  expect(() => parseSigningKey(secret)).toThrow(/^must be whsec_ and the base64 of 24 to 64 bytes$/)
})
