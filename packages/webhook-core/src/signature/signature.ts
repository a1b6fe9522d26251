import { createHmac, randomBytes } from 'node:crypto'
import { parseSigningKey, signedHeaders, type SignedHeaders } from '@signet/standard-webhooks'
import type { DeliveryId, EventId } from '../ids.js'

export type SignedContent = {
  /** The whole signing secret including `whsec_`. Its UTF-8 bytes are the key (apps/webhooks/docs/specification.md#signature). */
  secret: string
  /** Unix seconds, as sent in X-Service-Timestamp. */
  timestamp: number
  /** The exact bytes of the request body. */
  body: Uint8Array | string
}

/**
 * Creates a signing secret: `whsec_` and the standard base64 of 256 bits, the only form that all Standard Webhooks libraries accept. It
 * is shown once and stored encrypted.
 */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** Returns the value of X-Service-Signature: `sha256=` and the hex HMAC of timestamp, dot and body. */
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
} & SignedHeaders

export type DeliveryContent = SignedContent & {
  /** The secret that will replace `secret`, while both are valid. Only the Standard Webhooks header can contain a second signature. */
  nextSecret?: string | null
  eventId: EventId
  eventType: string
  deliveryId: DeliveryId
}

/** The headers of one attempt (apps/webhooks/docs/specification.md#delivery-headers). Each attempt has its own timestamp and signatures. */
export function deliveryHeaders(content: DeliveryContent): DeliveryHeaders {
  const secrets = content.nextSecret ? [content.secret, content.nextSecret] : [content.secret]
  const message = { id: content.eventId, body: content.body, at: new Date(content.timestamp * 1000) }
  return {
    'content-type': 'application/json',
    'x-service-event': content.eventType,
    'x-service-delivery': content.deliveryId,
    'x-service-timestamp': String(content.timestamp),
    'x-service-signature': sign(content),
    ...signedHeaders(secrets.map(parseSigningKey), message),
  }
}
