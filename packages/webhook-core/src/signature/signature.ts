import { createHmac, randomBytes } from 'node:crypto'
import { type DeliveryId } from '../ids.js'

export type SignedContent = {
  /** The whole subscription secret, `whsec_` included: its UTF-8 bytes are the key (contract F.6). */
  secret: string
  /** Unix seconds, as sent in X-Service-Timestamp. */
  timestamp: number
  /** Exactly the bytes of the request body. */
  body: Uint8Array | string
}

/** A fresh signing secret: `whsec_` and 43 base64url characters, 256 bits. Shown once, stored sealed. */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64url')}`

/** The value of X-Service-Signature: `sha256=` and the hex HMAC of timestamp, dot and body (contract A17). */
export function sign({ secret, timestamp, body }: SignedContent): string {
  if (!Number.isSafeInteger(timestamp) || timestamp < 0)
    throw new RangeError('timestamp must be whole seconds')
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')}`
}

export type DeliveryHeaders = {
  'content-type': 'application/json'
  'x-service-event': string
  'x-service-delivery': string
  'x-service-timestamp': string
  'x-service-signature': string
}

/** The documented headers of one attempt (contract A21). Each attempt has a timestamp and signature of its own. */
export function deliveryHeaders(
  content: SignedContent & { eventType: string; deliveryId: DeliveryId },
): DeliveryHeaders {
  return {
    'content-type': 'application/json',
    'x-service-event': content.eventType,
    'x-service-delivery': content.deliveryId,
    'x-service-timestamp': String(content.timestamp),
    'x-service-signature': sign(content),
  }
}
