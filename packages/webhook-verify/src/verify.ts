import { Buffer } from 'node:buffer'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { types } from 'node:util'
import {
  InvalidPayloadError,
  MalformedHeaderError,
  RawBodyRequiredError,
  SignatureMismatchError,
  TimestampInFutureError,
  TimestampTooOldError,
} from './errors.js'
import type { WebhookEvent } from './events.js'
import { SIGNATURE_HEADER, TIMESTAMP_HEADER, singleHeader, type HeaderSource } from './headers.js'
import { secretsOf, type Secret } from './secret.js'

/** A body as received: bytes in whatever form a server hands them over, or their text. */
export type RawBody = Uint8Array | ArrayBuffer | string

export type VerifyOptions = {
  /** How far the signing time may lie from now, in seconds, in either direction. Default 300. */
  toleranceSeconds?: number
  /** The clock; replaced in tests. */
  now?: () => Date
}

export const DEFAULT_TOLERANCE_SECONDS = 300
const SIGNATURE_FORM = /^sha256=([0-9a-f]{64})$/
const TIMESTAMP_FORM = /^[0-9]{1,12}$/

/**
 * Checks that a delivery was signed with `secret` over exactly these bytes and not long ago, and returns its event.
 * Throws a `WebhookVerificationError` that names the reason; nothing is parsed before the signature holds.
 */
export function verify(
  rawBody: RawBody,
  headers: HeaderSource,
  secret: Secret,
  { toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, now = () => new Date() }: VerifyOptions = {},
): WebhookEvent {
  const body = bytesOf(rawBody)
  const secrets = secretsOf(secret)
  if (!(toleranceSeconds >= 0)) throw new RangeError('toleranceSeconds must be a number, zero or more')

  const timestamp = singleHeader(headers, TIMESTAMP_HEADER)
  if (!TIMESTAMP_FORM.test(timestamp)) throw new MalformedHeaderError(TIMESTAMP_HEADER)
  const claimed = SIGNATURE_FORM.exec(singleHeader(headers, SIGNATURE_HEADER))?.[1]
  if (claimed === undefined) throw new MalformedHeaderError(SIGNATURE_HEADER)

  requireSignature(Buffer.from(claimed, 'hex'), timestamp, body, secrets)
  requireFresh(Number(timestamp), now(), toleranceSeconds)
  return parseEvent(body)
}

function bytesOf(rawBody: RawBody): Buffer {
  if (typeof rawBody === 'string') return Buffer.from(rawBody)
  // Not instanceof: the bytes may come from another realm, such as a test runner's.
  if (ArrayBuffer.isView(rawBody)) return Buffer.from(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength)
  if (types.isAnyArrayBuffer(rawBody)) return Buffer.from(rawBody)
  // Callers in JavaScript hand over `req.body` after a JSON parser; without this check that is a bare mismatch.
  throw new RawBodyRequiredError()
}

function requireSignature(claimed: Buffer, timestamp: string, body: Buffer, secrets: readonly string[]) {
  let matches = false
  for (const secret of secrets) {
    const expected = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest()
    if (timingSafeEqual(expected, claimed)) matches = true
  }
  if (!matches) throw new SignatureMismatchError()
}

function requireFresh(signedAt: number, now: Date, toleranceSeconds: number) {
  const ageSeconds = Math.floor(now.getTime() / 1000) - signedAt
  if (ageSeconds > toleranceSeconds) throw new TimestampTooOldError(ageSeconds, toleranceSeconds)
  if (-ageSeconds > toleranceSeconds) throw new TimestampInFutureError(-ageSeconds, toleranceSeconds)
}

function parseEvent(body: Buffer): WebhookEvent {
  const value = parseJson(body.toString('utf8'))
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
