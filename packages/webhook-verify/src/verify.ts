import { createHmac, timingSafeEqual } from 'node:crypto'
import {
  InvalidPayloadError,
  MalformedHeaderError,
  RawBodyRequiredError,
  SignatureMismatchError,
  TimestampInFutureError,
  TimestampTooOldError,
} from './errors.js'
import { type WebhookEvent } from './events.js'
import { SIGNATURE_HEADER, TIMESTAMP_HEADER, singleHeader, type HeaderSource } from './headers.js'

export type VerifyOptions = {
  /** How far the signing time may lie from now, in seconds, in either direction. Default 300. */
  toleranceSeconds?: number
  /** The clock; replaced in tests. */
  now?: () => Date
}

/** A subscription secret, whole, with its `whsec_`. Several while an old subscription is replaced by a new one. */
export type Secret = string | readonly string[]

export const DEFAULT_TOLERANCE_SECONDS = 300
const SIGNATURE_FORM = /^sha256=([0-9a-f]{64})$/
const TIMESTAMP_FORM = /^[0-9]{1,12}$/

/**
 * Checks that a delivery was signed with `secret` over exactly these bytes and not long ago, and returns its event.
 * Throws a `WebhookVerificationError` that names the reason; nothing is parsed before the signature holds.
 */
export function verify(
  rawBody: Uint8Array | string,
  headers: HeaderSource,
  secret: Secret,
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = () => new Date() }: VerifyOptions = {},
): WebhookEvent {
  // Callers in JavaScript hand over `req.body` after a JSON parser; without this check that is a bare mismatch.
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array)) throw new RawBodyRequiredError()
  if (!(toleranceSeconds >= 0)) throw new RangeError('toleranceSeconds must be a number, zero or more')

  const timestamp = singleHeader(headers, TIMESTAMP_HEADER)
  if (!TIMESTAMP_FORM.test(timestamp)) throw new MalformedHeaderError(TIMESTAMP_HEADER)
  const claimed = SIGNATURE_FORM.exec(singleHeader(headers, SIGNATURE_HEADER))?.[1]
  if (claimed === undefined) throw new MalformedHeaderError(SIGNATURE_HEADER)

  requireSignature(Buffer.from(claimed, 'hex'), timestamp, rawBody, secret)
  requireFresh(Number(timestamp), now(), toleranceSeconds)
  return parseEvent(rawBody)
}

function requireSignature(claimed: Buffer, timestamp: string, rawBody: Uint8Array | string, secret: Secret) {
  const secrets = typeof secret === 'string' ? [secret] : secret
  // An empty key would make a signature that anybody can make.
  if (secrets.length === 0 || secrets.some((one) => typeof one !== 'string' || one.length === 0)) {
    throw new TypeError('The secret must be a non-empty string')
  }
  let matches = false
  for (const one of secrets) {
    const expected = createHmac('sha256', one).update(`${timestamp}.`).update(rawBody).digest()
    if (timingSafeEqual(expected, claimed)) matches = true
  }
  if (!matches) throw new SignatureMismatchError()
}

function requireFresh(signedAt: number, now: Date, toleranceSeconds: number) {
  const ageSeconds = Math.floor(now.getTime() / 1000) - signedAt
  if (ageSeconds > toleranceSeconds) throw new TimestampTooOldError(ageSeconds, toleranceSeconds)
  if (-ageSeconds > toleranceSeconds) throw new TimestampInFutureError(-ageSeconds, toleranceSeconds)
}

function parseEvent(rawBody: Uint8Array | string): WebhookEvent {
  const value = parseJson(typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody))
  if (!isRecord(value)) throw new InvalidPayloadError('not a JSON object')
  for (const field of ['id', 'type', 'created_at']) {
    if (typeof value[field] !== 'string') throw new InvalidPayloadError(`${field} is not a string`)
  }
  if (!isRecord(value.data)) throw new InvalidPayloadError('data is not an object')
  if (value.type === 'summary.completed' && typeof value.data.audio_id !== 'string') {
    throw new InvalidPayloadError('data.audio_id is not a string')
  }
  // The sender vouches for the rest: the body is signed, and its documented optional fields stay optional here.
  return value as WebhookEvent
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidPayloadError('not JSON')
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
