import { createHmac, timingSafeEqual } from 'node:crypto'

/** A message of the Standard Webhooks specification, as sent. */
export type SignedHeaders = {
  'webhook-id': string
  'webhook-timestamp': string
  'webhook-signature': string
}

const MIN_KEY_BYTES = 24
const MAX_KEY_BYTES = 64
const TOLERANCE_SECONDS = 300

/** Decodes the key of a Standard Webhooks secret: `whsec_` and the base64 of 24 to 64 bytes. */
export function parseSigningKey(secret: string): Buffer {
  const [, encoded = ''] = /^whsec_([A-Za-z0-9+/_-]+={0,2})$/.exec(secret) ?? []
  const key = Buffer.from(encoded, 'base64')
  if (key.length < MIN_KEY_BYTES || key.length > MAX_KEY_BYTES)
    throw new Error('must be whsec_ and the base64 of 24 to 64 bytes')
  return key
}

/**
 * The headers of one attempt. The id is the same in every attempt; the time, and therefore the signatures, are not. There is one
 * signature per key, and one that matches is enough for the receiver.
 */
export function signedHeaders(
  keys: readonly Buffer[],
  message: { id: string; body: string | Uint8Array; at: Date },
): SignedHeaders {
  const timestamp = String(Math.floor(message.at.getTime() / 1000))
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys
      .map((key) => `v1,${macOf(key, message.id, timestamp, message.body).toString('base64')}`)
      .join(' '),
  }
}

/**
 * Returns whether a message was signed with one of the keys over its id, its time and exactly these bytes, within five minutes of now
 * (Standard Webhooks, "Verifying signatures"). A message that is repeated within that time also passes, so handlers must be idempotent.
 */
export function isSigned(
  body: Uint8Array,
  headers: Readonly<Record<keyof SignedHeaders, string | undefined>>,
  { keys, now }: { keys: readonly Buffer[]; now: Date },
): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
  if (id === undefined || timestamp === undefined || signature === undefined) return false
  if (!/^[0-9]{1,12}$/.test(timestamp)) return false
  if (Math.abs(now.getTime() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const expected = keys.map((key) => macOf(key, id, timestamp, body))
  const claimed = signature
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one.slice('v1,'.length), 'base64'))
  return claimed.some((one) =>
    expected.some((right) => one.length === right.length && timingSafeEqual(one, right)),
  )
}

const macOf = (key: Buffer, id: string, timestamp: string, body: string | Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
