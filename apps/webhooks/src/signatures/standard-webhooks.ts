import { createHmac, timingSafeEqual } from 'node:crypto'

/** Headers of the Standard Webhooks specification. */
export type SignedHeaders = {
  id: string | undefined
  timestamp: string | undefined
  signature: string | undefined
}

/** The key of a secret as Standard Webhooks writes them: `whsec_` and the base64 of 24 to 64 bytes. */
export function parseSigningKey(secret: string): Buffer {
  const [, encoded = ''] = /^whsec_([A-Za-z0-9+/_-]+={0,2})$/.exec(secret) ?? []
  const key = Buffer.from(encoded, 'base64')
  if (key.length < MIN_KEY_BYTES || key.length > MAX_KEY_BYTES)
    throw new Error('must be whsec_ and the base64 of 24 to 64 bytes')
  return key
}

const MIN_KEY_BYTES = 24
const MAX_KEY_BYTES = 64
const TOLERANCE_SECONDS = 300

/**
 * Whether a message was signed with one of the keys, over its id, its time and exactly these bytes, within five minutes of
 * now (Standard Webhooks, "Verifying signatures"). A repeat within that time passes: what it says must bear to be said twice.
 */
export function isSigned(
  body: Uint8Array,
  { id, timestamp, signature }: SignedHeaders,
  { keys, now }: { keys: readonly Buffer[]; now: Date },
): boolean {
  if (id === undefined || timestamp === undefined || signature === undefined) return false
  if (!/^[0-9]{1,12}$/.test(timestamp)) return false
  if (Math.abs(now.getTime() / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const expected = keys.map((key) =>
    createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest(),
  )
  const claimed = signature
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one.slice('v1,'.length), 'base64'))
  return claimed.some((one) =>
    expected.some((right) => one.length === right.length && timingSafeEqual(one, right)),
  )
}
