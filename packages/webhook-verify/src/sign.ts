import {
  DELIVERY_HEADER,
  EVENT_HEADER,
  SIGNATURE_HEADER,
  STANDARD_ID_HEADER,
  STANDARD_SIGNATURE_HEADER,
  STANDARD_TIMESTAMP_HEADER,
  TIMESTAMP_HEADER,
} from './headers.js'
import { secretsOf, type Secret } from './secret.js'
import { bytesOf, serviceSignature, standardSignature, type RawBody } from './signature.js'

export type SignOptions = {
  /** The signing time; by default, now. With a time long ago, the delivery will be refused. */
  now?: () => Date
  /** By default, the `id` and `type` of the body, if it is an event. */
  eventId?: string
  eventType?: string
  deliveryId?: string
}

/** The headers of a delivery, as the service sends them. A type alias, so that it is also a plain record of strings. */
export type SignedHeaders = Record<
  | 'content-type'
  | typeof EVENT_HEADER
  | typeof DELIVERY_HEADER
  | typeof TIMESTAMP_HEADER
  | typeof SIGNATURE_HEADER
  | typeof STANDARD_ID_HEADER
  | typeof STANDARD_TIMESTAMP_HEADER
  | typeof STANDARD_SIGNATURE_HEADER,
  string
>

/**
 * Returns the headers of a delivery with this body, for a receiver's tests. With several secrets, `webhook-signature` contains a
 * signature for each and `X-Service-Signature` uses the first one, as while one secret replaces another.
 */
export function sign(rawBody: RawBody, secret: Secret, options: SignOptions = {}): SignedHeaders {
  const body = bytesOf(rawBody)
  const secrets = secretsOf(secret)
  const timestamp = secondsOf(options.now?.() ?? new Date())
  const { id, type } = namesIn(body.toString('utf8'))
  const eventId = options.eventId ?? id ?? 'evt_test'
  const message = { id: eventId, timestamp, body }
  return {
    'content-type': 'application/json',
    [EVENT_HEADER]: options.eventType ?? type ?? 'webhook.ping',
    [DELIVERY_HEADER]: options.deliveryId ?? '1',
    [TIMESTAMP_HEADER]: timestamp,
    [SIGNATURE_HEADER]: serviceSignature(secrets[0] ?? '', timestamp, body),
    [STANDARD_ID_HEADER]: eventId,
    [STANDARD_TIMESTAMP_HEADER]: timestamp,
    [STANDARD_SIGNATURE_HEADER]: secrets.map((one) => standardSignature(one, message)).join(' '),
  }
}

function secondsOf(date: Date): string {
  const seconds = Math.floor(date.getTime() / 1000)
  if (!(seconds >= 0)) throw new RangeError('now must give a date, 1970 or later')
  return String(seconds)
}

/** A test may sign a body that is not an event, to check that it is refused. */
function namesIn(text: string): { id?: string; type?: string } {
  try {
    const { id, type } = JSON.parse(text) as { id?: unknown; type?: unknown }
    return { ...(typeof id === 'string' && { id }), ...(typeof type === 'string' && { type }) }
  } catch {
    return {}
  }
}
