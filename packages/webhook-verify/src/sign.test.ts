import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from '@jest/globals'
import { signedAt, vectors } from '../test/vectors.js'
import { InvalidSecretError, SignatureMismatchError, sign, verify } from './index.js'

const { secret } = vectors
const [ping, unicode] = vectors.accepted as [(typeof vectors.accepted)[0], (typeof vectors.accepted)[0]]
const next = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const options = { now: signedAt }

/** Adds the padding without which the published library refuses Base64. It can only use the clock of the computer. */
const published = (of: string) => new Webhook(`${of.replace(/=*$/, '')}${of.length % 4 === 1 ? '=' : ''}`)

const only = (headers: Record<string, string>, prefix: RegExp) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => prefix.test(name)))

describe('sign', () => {
  it('makes the headers of a delivery, named after the event in the body', () => {
    expect(sign(ping.body, secret, options)).toEqual({
      'content-type': 'application/json',
      'X-Service-Event': 'webhook.ping',
      'X-Service-Delivery': '1',
      'X-Service-Timestamp': vectors.timestamp,
      'X-Service-Signature': ping.signature,
      'webhook-id': 'evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0',
      'webhook-timestamp': vectors.timestamp,
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    })
    expect(sign(unicode.body, secret, options)['X-Service-Event']).toBe('summary.completed')
  })

  it.each([/^x-service/i, /^webhook-/])('is taken by verify, by the headers %s alone too', (family) => {
    const body = Buffer.from(unicode.body)
    const headers = only(sign(body, secret), family)
    expect(Object.keys(headers).length).toBeGreaterThan(2)
    expect(verify(body, headers, secret).id).toBe('evt_5d41402abc4b2a76b9719d911017c592')
    expect(() => verify(`${unicode.body} `, headers, secret)).toThrow(SignatureMismatchError)
  })

  it('signs with each of several secrets, and with the first alone where there is one place', () => {
    const headers = sign(ping.body, [secret, next], options)
    expect(headers['X-Service-Signature']).toBe(ping.signature)
    expect(headers['webhook-signature'].split(' ')).toHaveLength(2)
    for (const trusted of [secret, next, [next, secret]])
      expect(verify(ping.body, headers, trusted, options).type).toBe('webhook.ping')
    const service = only(headers, /^x-service/i)
    expect(verify(ping.body, service, secret, options).type).toBe('webhook.ping')
    expect(() => verify(ping.body, service, next, options)).toThrow(SignatureMismatchError)
  })

  it('accepts another id, type and delivery, and a body that is not an event', () => {
    const names = { eventId: 'evt_7', eventType: 'other', deliveryId: '12' }
    expect(sign(ping.body, secret, names)).toMatchObject({
      'X-Service-Event': 'other',
      'X-Service-Delivery': '12',
      'webhook-id': 'evt_7',
    })
    for (const body of ['no JSON', '7', 'null', '{"id":1,"type":[]}']) {
      const named = { 'X-Service-Event': 'webhook.ping', 'webhook-id': 'evt_test' }
      expect(sign(body, secret)).toMatchObject(named)
    }
  })

  it('refuses a secret that verifies nothing and a time that is none', () => {
    expect(() => sign(ping.body, 'whsec_')).toThrow(InvalidSecretError)
    for (const time of [Number.NaN, -1000])
      expect(() => sign(ping.body, secret, { now: () => new Date(time) })).toThrow(RangeError)
  })
})

describe('the published standardwebhooks library', () => {
  it.each([secret, next])('takes what is signed here, with the secret %s', (one) => {
    const headers = { ...sign(unicode.body, [next, secret]) }
    expect(published(one).verify(unicode.body, headers)).toEqual(JSON.parse(unicode.body))
    expect(() => published(one).verify(`${unicode.body} `, headers)).toThrow('No matching signature')
    const late = { ...sign(unicode.body, one, { now: () => new Date(Date.now() - 400_000) }) }
    expect(() => published(one).verify(unicode.body, late)).toThrow('too old')
  })

  it.each([secret, next])('signs what is taken here, with the secret %s', (one) => {
    const at = new Date()
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': published(one).sign('msg_1', at, unicode.body),
    }
    expect(verify(unicode.body, headers, one)).toEqual(JSON.parse(unicode.body))
    expect(() => verify(ping.body, headers, one)).toThrow(SignatureMismatchError)
  })
})
