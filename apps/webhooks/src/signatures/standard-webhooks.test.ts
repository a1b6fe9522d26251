import { createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { isSigned, parseSigningKey } from './standard-webhooks.js'

// The example that the libraries of the specification are tested with.
const KEY = parseSigningKey('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
const BODY = Buffer.from('{"test": 2432232314}')
const HEADERS = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: '1614265330',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}
const NOW = new Date(1_614_265_330_000)
const options = { keys: [KEY], now: NOW }

describe('isSigned', () => {
  it('knows the example of the specification', () => {
    expect(isSigned(BODY, HEADERS, options)).toBe(true)
  })

  it('takes one right signature among several, and one of several keys, so that secrets can be rotated', () => {
    const signature = `v1,${'A'.repeat(43)}= v1a,other ${HEADERS.signature}`
    const keys = [parseSigningKey(`whsec_${Buffer.alloc(32, 7).toString('base64')}`), KEY]
    expect(isSigned(BODY, { ...HEADERS, signature }, { keys, now: NOW })).toBe(true)
  })

  it.each<[string, Partial<typeof HEADERS>]>([
    ['another id', { id: 'msg_other' }],
    ['another time', { timestamp: '1614265331' }],
    ['no signature', { signature: '' }],
    ['another version', { signature: HEADERS.signature.replace('v1', 'v2') }],
    ['a cut signature', { signature: HEADERS.signature.slice(0, 20) }],
    ['a time that is none', { timestamp: '1e9' }],
  ])('refuses %s', (_name, changed) => {
    expect(isSigned(BODY, { ...HEADERS, ...changed }, options)).toBe(false)
  })

  it('refuses another body, a missing header and another key', () => {
    expect(isSigned(Buffer.from('{"test": 2432232315}'), HEADERS, options)).toBe(false)
    expect(isSigned(BODY, { ...HEADERS, id: undefined }, options)).toBe(false)
    expect(isSigned(BODY, HEADERS, { keys: [Buffer.alloc(32)], now: NOW })).toBe(false)
    expect(isSigned(BODY, HEADERS, { keys: [], now: NOW })).toBe(false)
  })

  it('refuses a good signature from more than five minutes ago or ahead', () => {
    const at = (seconds: number) => {
      const timestamp = String(NOW.getTime() / 1000 + seconds)
      const mac = createHmac('sha256', KEY)
        .update(`${HEADERS.id}.${timestamp}.`)
        .update(BODY)
        .digest('base64')
      return isSigned(BODY, { ...HEADERS, timestamp, signature: `v1,${mac}` }, options)
    }
    expect([-301, -300, 300, 301].map(at)).toEqual([false, true, true, false])
  })
})

it.each(['', 'whsec_', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_short', `whsec_${'!'.repeat(32)}`])(
  'refuses %p as a key',
  (secret) => {
    expect(() => parseSigningKey(secret)).toThrow('whsec_')
  },
)
