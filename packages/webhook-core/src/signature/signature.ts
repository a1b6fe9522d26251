import { createHmac, randomBytes, type Hmac } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseSigningKey, type SignedHeaders } from '@signet/standard-webhooks'
import type { DeliveryId, EventId } from '../ids.js'

/**
 * Creates a signing secret: `whsec_` and the standard base64 of 256 bits, the only form that all Standard Webhooks libraries accept. It
 * is shown once and stored encrypted.
 */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

export type DeliveryHeaders = {
  'content-type': 'application/json'
  'x-service-event': string
  'x-service-delivery': string
  'x-service-timestamp': string
  'x-service-signature': string
} & SignedHeaders

export type DeliveryContent<Body = Uint8Array | string> = {
  /** The whole signing secret including `whsec_`. Its UTF-8 bytes are the key (apps/webhooks/docs/specification.md#signature). */
  secret: string
  /** The secret that will replace `secret`, while both are valid. Only the Standard Webhooks header can contain a second signature. */
  nextSecret?: string | null
  /** Unix seconds, as sent in X-Service-Timestamp. */
  timestamp: number
  /** The exact bytes of the request body. */
  body: Body
  eventId: EventId
  eventType: string
  deliveryId: DeliveryId
}

/** A body up to this size is signed at once, which takes a few milliseconds. */
const MAX_BYTES_AT_ONCE = 2 ** 20
const SLICE_BYTES = 2 ** 18

/** The headers of one attempt (apps/webhooks/docs/specification.md#delivery-headers). Each attempt has its own timestamp and signatures. */
export function deliveryHeaders(content: DeliveryContent): DeliveryHeaders {
  const signatures = new Signatures(content)
  signatures.update(content.body)
  return signatures.headers()
}

/** The same, but lets the event loop handle other work while it signs a large body. */
export async function signDelivery(content: DeliveryContent<Uint8Array>): Promise<DeliveryHeaders> {
  const { body } = content
  if (body.byteLength <= MAX_BYTES_AT_ONCE) return deliveryHeaders(content)
  const signatures = new Signatures(content)
  for (let from = 0; from < body.byteLength; from += SLICE_BYTES) {
    if (from > 0) await nextTurn()
    signatures.update(body.subarray(from, from + SLICE_BYTES))
  }
  return signatures.headers()
}

/** All signatures of an attempt, made in one pass over its body. */
class Signatures {
  /** Of timestamp, dot and body. */
  readonly #service: Hmac
  /** Of event id, dot, timestamp, dot and body, as Standard Webhooks says, with each secret. */
  readonly #standard: readonly Hmac[]

  constructor(private readonly content: Omit<DeliveryContent, 'body'>) {
    const { secret, nextSecret, timestamp, eventId } = content
    if (!Number.isSafeInteger(timestamp) || timestamp < 0)
      throw new RangeError('timestamp must be whole seconds')
    this.#service = createHmac('sha256', secret).update(`${timestamp}.`)
    this.#standard = (nextSecret ? [secret, nextSecret] : [secret]).map((one) =>
      createHmac('sha256', parseSigningKey(one)).update(`${eventId}.${timestamp}.`),
    )
  }

  update(bytes: Uint8Array | string): void {
    for (const hmac of [this.#service, ...this.#standard]) hmac.update(bytes)
  }

  headers(): DeliveryHeaders {
    const { eventId, eventType, deliveryId, timestamp } = this.content
    return {
      'content-type': 'application/json',
      'x-service-event': eventType,
      'x-service-delivery': deliveryId,
      'x-service-timestamp': String(timestamp),
      'x-service-signature': `sha256=${this.#service.digest('hex')}`,
      'webhook-id': eventId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': this.#standard.map((hmac) => `v1,${hmac.digest('base64')}`).join(' '),
    }
  }
}
