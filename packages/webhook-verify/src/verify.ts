import { Buffer } from 'node:buffer'
import { timingSafeEqual } from 'node:crypto'
import {
  InvalidPayloadError,
  MalformedHeaderError,
  SignatureMismatchError,
  TimestampInFutureError,
  TimestampTooOldError,
} from './errors.js'
import type { WebhookEvent } from './events.js'
import {
  hasHeader,
  SIGNATURE_HEADER,
  singleHeader,
  STANDARD_ID_HEADER,
  STANDARD_SIGNATURE_HEADER,
  STANDARD_TIMESTAMP_HEADER,
  TIMESTAMP_HEADER,
  type HeaderSource,
} from './headers.js'
import { secretsOf, type Secret } from './secret.js'
import { bytesOf, serviceSignature, standardSignature, type RawBody } from './signature.js'

export type VerifyOptions = {
  /** How far the signing time may be from now, in seconds, in either direction. Default 300. */
  toleranceSeconds?: number
  /** The clock; replaced in tests. */
  now?: () => Date
}

/**
 * The content of the headers in either format: the signing time, the signatures, and a function for the signature that a secret would
 * make.
 */
type Signed = { timestamp: string; signatures: readonly string[]; expected: (secret: string) => string }

export const DEFAULT_TOLERANCE_SECONDS = 300
const SIGNATURE_FORM = /^sha256=[0-9a-f]{64}$/
const TIMESTAMP_FORM = /^[0-9]{1,12}$/

/**
 * Checks that a delivery was signed with `secret` over exactly these bytes and not long ago, and returns its event. Reads the Standard
 * Webhooks headers if `webhook-signature` is present, because they contain the signatures of both secrets while one replaces the other,
 * and the `X-Service` headers otherwise (decision 0170). Throws a `WebhookVerificationError` that names the reason. Parses nothing
 * before the signature has been verified.
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

  const signed = hasHeader(headers, STANDARD_SIGNATURE_HEADER)
    ? standardHeaders(headers, body)
    : serviceHeaders(headers, body)
  requireSignature(signed, secrets)
  requireFresh(Number(signed.timestamp), now(), toleranceSeconds)
  return parseEvent(body)
}

function serviceHeaders(headers: HeaderSource, body: Buffer): Signed {
  const timestamp = timestampOf(headers, TIMESTAMP_HEADER)
  const signature = singleHeader(headers, SIGNATURE_HEADER)
  if (!SIGNATURE_FORM.test(signature)) throw new MalformedHeaderError(SIGNATURE_HEADER)
  return {
    timestamp,
    signatures: [signature],
    expected: (secret) => serviceSignature(secret, timestamp, body),
  }
}

function standardHeaders(headers: HeaderSource, body: Buffer): Signed {
  const id = singleHeader(headers, STANDARD_ID_HEADER)
  const timestamp = timestampOf(headers, STANDARD_TIMESTAMP_HEADER)
  // Entries of other versions, such as v1a, are for other receivers and match none of ours.
  const signatures = singleHeader(headers, STANDARD_SIGNATURE_HEADER).split(' ')
  return { timestamp, signatures, expected: (secret) => standardSignature(secret, { id, timestamp, body }) }
}

function timestampOf(headers: HeaderSource, name: string): string {
  const timestamp = singleHeader(headers, name)
  if (!TIMESTAMP_FORM.test(timestamp)) throw new MalformedHeaderError(name)
  return timestamp
}

function requireSignature({ signatures, expected }: Signed, secrets: readonly string[]) {
  let matches = false
  for (const right of secrets.map(expected)) {
    for (const signature of signatures) if (constantTimeEqual(right, signature)) matches = true
  }
  if (!matches) throw new SignatureMismatchError()
}

/** Timing reveals only the length of the expected signature, which is public. */
function constantTimeEqual(right: string, given: string): boolean {
  const [a, b] = [Buffer.from(right), Buffer.from(given)]
  return a.length === b.length && timingSafeEqual(a, b)
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
  // The sender is responsible for the rest: the body is signed, and its documented optional fields stay optional here.
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
