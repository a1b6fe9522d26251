import { createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { headersFor, signedAt, vectors } from '../test/vectors.js'
import {
  InvalidPayloadError,
  InvalidSecretError,
  MalformedHeaderError,
  MissingHeaderError,
  RawBodyRequiredError,
  SignatureMismatchError,
  TimestampInFutureError,
  TimestampTooOldError,
  verify,
  type UnknownEvent,
  type WebhookEvent,
} from './index.js'

const { secret } = vectors
const otherSecret = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString('base64')}`
const [ping, unicode] = vectors.accepted as [(typeof vectors.accepted)[0], (typeof vectors.accepted)[0]]
const options = { toleranceSeconds: 300, now: signedAt }

const sign = (body: string, timestamp = vectors.timestamp) =>
  headersFor(`sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`, timestamp)

const at = (offsetSeconds: number) => ({
  toleranceSeconds: 300,
  now: () => new Date(signedAt().getTime() + offsetSeconds * 1000),
})

describe('verify', () => {
  it.each(vectors.accepted)('accepts the documented vector: $name', ({ body, bytes, signature }) => {
    expect(Buffer.byteLength(body)).toBe(bytes)
    expect(verify(body, headersFor(signature), secret, options)).toEqual(JSON.parse(body))
    expect(verify(Buffer.from(body), headersFor(signature), secret, options)).toEqual(JSON.parse(body))
    const { buffer } = new TextEncoder().encode(body)
    expect(verify(buffer, headersFor(signature), secret, options)).toEqual(JSON.parse(body))
    expect(verify(new DataView(buffer) as never, headersFor(signature), secret, options)).toEqual(
      JSON.parse(body),
    )
  })

  it('reads Fetch headers, Node headers and plain objects in any spelling', () => {
    const headers = headersFor(ping.signature)
    const upper = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toUpperCase(), v]))
    for (const form of [headers, upper, new Headers(headers), { ...headers, 'x-other': ['a', 'b'] }]) {
      expect(verify(ping.body, form, secret, options).id).toBe('evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0')
    }
  })

  it('accepts any one of several secrets, for a webhook that is being replaced', () => {
    expect(verify(ping.body, headersFor(ping.signature), [otherSecret(1), secret], options).type).toBe(
      'webhook.ping',
    )
    expect(() =>
      verify(ping.body, headersFor(ping.signature), [otherSecret(1), otherSecret(2)], options),
    ).toThrow(SignatureMismatchError)
  })

  it.each([
    ['a missing timestamp', { 'x-service-timestamp': undefined }, MissingHeaderError],
    ['an empty signature', { 'x-service-signature': '' }, MissingHeaderError],
    [
      'a repeated signature',
      { 'x-service-signature': [ping.signature, ping.signature] },
      MalformedHeaderError,
    ],
    ['a repeat in another spelling', { 'X-Service-Signature': ping.signature }, MalformedHeaderError],
    [
      'an upper-case signature',
      { 'x-service-signature': ping.signature.toUpperCase() },
      MalformedHeaderError,
    ],
    ['a timestamp with a sign', { 'x-service-timestamp': '+1767225600' }, MalformedHeaderError],
    ['a timestamp with a fraction', { 'x-service-timestamp': '1767225600.0' }, MalformedHeaderError],
    ['another timestamp than was signed', { 'x-service-timestamp': '1767225601' }, SignatureMismatchError],
  ])('refuses %s', (_name, change, error) => {
    expect(() => verify(ping.body, { ...headersFor(ping.signature), ...change }, secret, options)).toThrow(
      error,
    )
  })

  it('refuses headers that Fetch has joined from repeats', () => {
    const repeated = new Headers(headersFor(ping.signature))
    repeated.append('x-service-signature', ping.signature)
    expect(() => verify(ping.body, repeated, secret, options)).toThrow(MalformedHeaderError)
  })

  it('refuses a body that went through a JSON parser, and says what to do', () => {
    const parsed = JSON.parse(unicode.body) as string
    expect(() => verify(parsed, headersFor(unicode.signature), secret, options)).toThrow(RawBodyRequiredError)
  })

  it('accepts up to the tolerance in both directions and refuses one second more', () => {
    const run = (offset: number) => () => verify(ping.body, headersFor(ping.signature), secret, at(offset))
    expect(run(300)).not.toThrow()
    expect(run(-300)).not.toThrow()
    expect(run(300.999)).not.toThrow() // the sender's clock has whole seconds
    expect(run(301)).toThrow(TimestampTooOldError)
    expect(run(-301)).toThrow(TimestampInFutureError)
  })

  it('checks the signature before the age and before the body, so a forger learns nothing else', () => {
    expect(() => verify('not json', headersFor(ping.signature), secret, at(9999))).toThrow(
      SignatureMismatchError,
    )
  })

  it.each([
    ['text that is not JSON', 'hello'],
    ['an array', '[]'],
    ['a missing id', '{"type":"a","created_at":"b","data":{}}'],
    ['data that is an array', '{"id":"evt_1","type":"a","created_at":"b","data":[]}'],
    ['a summary without audio_id', '{"id":"evt_1","type":"summary.completed","created_at":"b","data":{}}'],
  ])('refuses %s even when correctly signed', (_name, body) => {
    expect(() => verify(body, sign(body), secret, options)).toThrow(InvalidPayloadError)
  })

  it('hands over types it does not know', () => {
    const body =
      '{"id":"evt_1","type":"recording.archived","created_at":"2026-01-01T00:00:00.000Z","data":{"a":1}}'
    expect(verify(body, sign(body), secret, options)).toEqual(JSON.parse(body))
  })

  it('returns a union that narrows by its type', () => {
    const titleOf = (event: WebhookEvent): string | undefined => {
      switch (event.type) {
        case 'summary.completed':
          return event.data.title
        case 'webhook.ping':
          return event.data.message
        default: {
          const other: UnknownEvent = event
          return other.type
        }
      }
    }
    expect(titleOf(verify(unicode.body, headersFor(unicode.signature), secret, options))).toBe(
      'Café – 会議 😀',
    )
    expect(titleOf(verify(ping.body, headersFor(ping.signature), secret, options))).toBe(
      'This is a test event.',
    )
  })

  it.each([
    ['an empty secret', '', 'it is empty'],
    ['no secret', [], 'no secret was given'],
    ['an empty one among others', [secret, ''], 'it is empty'],
    ['an unset variable', undefined, 'it is empty or no string'],
    ['a secret without its prefix', secret.slice('whsec_'.length), 'it must be whole, with its whsec_'],
    ['the prefix alone', 'whsec_', 'it holds a space'],
    ['a secret with the line end of its file', `${secret}\n`, 'it holds a space or a line end'],
    ['a secret that was cut', secret.slice(0, 30), 'was it cut?'],
    ['a secret that is no Base64', `${secret}!`, 'Base64 of 24 to 64 bytes'],
    ['a secret that is too long', `whsec_${'A'.repeat(88)}`, 'Base64 of 24 to 64 bytes'],
  ])('calls %s a mistake of the caller, before it looks at the delivery', (_name, wrong, problem) => {
    const run = () => verify('', {}, wrong as string, options)
    expect(run).toThrow(InvalidSecretError)
    expect(run).toThrow(problem)
    expect(run).toThrow(expect.not.objectContaining({ message: expect.stringContaining(secret.slice(10)) }))
  })

  it.each([[-1], [Number.NaN]])('takes no tolerance of %p', (toleranceSeconds) => {
    expect(() => verify(ping.body, headersFor(ping.signature), secret, { toleranceSeconds })).toThrow(
      RangeError,
    )
  })

  it.each([
    ['a time of more than twelve digits', `000${vectors.timestamp}`],
    ['a time behind a space', ` ${vectors.timestamp}`],
    ['a time before a space', `${vectors.timestamp} `],
  ])('refuses %s, although it is signed', (_name, timestamp) => {
    expect(() => verify(ping.body, sign(ping.body, timestamp), secret, options)).toThrow(MalformedHeaderError)
  })

  it('names its errors and keeps secret and body out of them', () => {
    try {
      verify(ping.body, headersFor(ping.signature), otherSecret(1), options)
      throw new Error('accepted')
    } catch (error) {
      expect(error).toMatchObject({ name: 'SignatureMismatchError', code: 'signature_mismatch' })
      expect(String(error)).not.toMatch(/whsec_|evt_/)
    }
  })

  it('says in each error what was wrong', () => {
    const { signature, body } = ping
    const headers = headersFor(signature)
    const messages: [() => unknown, string, object][] = [
      [
        () => verify(undefined as never, headers, secret, options),
        'The raw request body is needed, as bytes or text. A body parser ran before the verification; ' +
          'mount the verification before it, or keep the raw bytes in req.rawBody.',
        { code: 'raw_body_required' },
      ],
      [
        () => verify(body, {}, secret, options),
        'Header X-Service-Timestamp is missing',
        { code: 'missing_header', header: 'X-Service-Timestamp' },
      ],
      [
        () => verify(body, { ...headers, 'x-service-timestamp': 'x' }, secret, options),
        'Header X-Service-Timestamp is repeated or not in its documented form',
        { code: 'malformed_header', header: 'X-Service-Timestamp' },
      ],
      [
        () => verify(body, new Headers({ 'x-service-timestamp': vectors.timestamp }), secret, options),
        'Header X-Service-Signature is missing',
        { code: 'missing_header', header: 'X-Service-Signature' },
      ],
      [
        () => verify('{}', headers, secret, options),
        'The signature does not match the body, the timestamp and the secret',
        { code: 'signature_mismatch' },
      ],
      [
        () => verify(body, headers, secret, at(301)),
        'Signed 301 s ago, more than the tolerance of 300 s',
        { code: 'timestamp_too_old', ageSeconds: 301, toleranceSeconds: 300 },
      ],
      [
        () => verify(body, headers, secret, at(-301)),
        'Signed for 301 s ahead, more than the tolerance of 300 s',
        { code: 'timestamp_in_future', aheadSeconds: 301, toleranceSeconds: 300 },
      ],
      [
        () => verify('x', sign('x'), secret, options),
        'The body is correctly signed but is not an event: not JSON',
        { code: 'invalid_payload' },
      ],
      [
        () => verify(body, headers, '', options),
        'The webhook secret cannot be used: it is empty or no string',
        { name: 'InvalidSecretError' },
      ],
      [
        () => verify(body, headers, secret, { toleranceSeconds: -1 }),
        'toleranceSeconds must be a number, zero or more',
        { name: 'RangeError' },
      ],
    ]
    for (const [run, message, rest] of messages) {
      expect(run).toThrow(expect.objectContaining({ message, ...rest }))
    }
  })

  it.each([
    ['"text"', 'not a JSON object'],
    ['null', 'not a JSON object'],
    ['[]', 'not a JSON object'],
    ['{"type":"a","created_at":"b","data":{}}', 'id is not a string'],
    ['{"id":"evt_1","type":1,"created_at":"b","data":{}}', 'type is not a string'],
    ['{"id":"evt_1","type":"a","data":{}}', 'created_at is not a string'],
    ['{"id":"evt_1","type":"a","created_at":"b","data":null}', 'data is not an object'],
    ['{"id":"evt_1","type":"a","created_at":"b","data":"x"}', 'data is not an object'],
    [
      '{"id":"evt_1","type":"summary.completed","created_at":"b","data":{"audio_id":1}}',
      'data.audio_id is not a string',
    ],
  ])('refuses the signed body %s: %s', (body, problem) => {
    expect(() => verify(body, sign(body), secret, options)).toThrow(
      `The body is correctly signed but is not an event: ${problem}`,
    )
  })

  it('takes a tolerance of zero, and five minutes and the system clock by default', () => {
    const headers = headersFor(ping.signature)
    expect(verify(ping.body, headers, secret, { ...options, toleranceSeconds: 0 }).id).toMatch(/^evt_/)
    const exact = { now: () => new Date(signedAt().getTime() + 300_000) }
    expect(verify(ping.body, headers, secret, exact).id).toMatch(/^evt_/)
    expect(() => verify(ping.body, headers, secret)).toThrow(TimestampTooOldError)
    const now = String(Math.floor(Date.now() / 1000))
    expect(verify(ping.body, sign(ping.body, now), secret).id).toMatch(/^evt_/)
  })

  it('reads the view of a larger buffer and no byte beside it', () => {
    const bytes = Buffer.from(`xx${ping.body}yy`)
    const view = bytes.subarray(2, bytes.length - 2)
    expect(verify(view, headersFor(ping.signature), secret, options).id).toMatch(/^evt_/)
  })

  it.each([
    [`x${secret}`, 'it must be whole, with its whsec_'],
    [`${secret} `, 'it holds a space or a line end'],
    [` ${secret}`, 'it must be whole'],
    [7 as never, 'it is empty or no string'],
  ])('takes no secret %j', (wrong, problem) => {
    expect(() => verify(ping.body, headersFor(ping.signature), wrong, options)).toThrow(problem)
  })
})
