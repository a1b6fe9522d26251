import { boolean, listOf, mapOf, number, object, text, type Of } from './shape.js'

// The fields that commands read. Every response is checked for them: a different service may run at the address, and a field that a
// table shows as a number must not be text that the terminal would interpret. `--json` also prints fields that a newer service adds.

/** A webhook as the service lists it. */
export const webhookShape = object({
  id: text,
  url: text,
  events: listOf(text),
  /** 1 is active, 2 disabled. */
  status: number,
  consecutive_failures: number,
  /** This and the next three are empty when they do not apply. */
  failing_since: text,
  disabled_at: text,
  disabled_reason: text,
  secret_activates_at: text,
  created_at: text,
  updated_at: text,
})
export type Webhook = Of<typeof webhookShape>

/** The answer to creating a webhook: the only time its secret is shown. */
export const createdWebhookShape = object({
  endpoint_id: text,
  secret: text,
  url: text,
  events: listOf(text),
  status: number,
})
export type CreatedWebhook = Of<typeof createdWebhookShape>

/** The answer to a rotation: the only time the next secret is shown. */
export const nextSecretShape = object({ endpoint_id: text, secret: text, secret_activates_at: text })
export type NextSecret = Of<typeof nextSecretShape>

const DELIVERY = {
  id: text,
  endpoint_id: text,
  event_id: text,
  event_type: text,
  /** 0 is pending, 1 delivered, 2 failed permanently. */
  status: number,
  attempts: number,
  last_error: text,
  delivered_at: text,
  created_at: text,
}
export const deliveryShape = object(DELIVERY)
export type Delivery = Of<typeof deliveryShape>

export type DeliveryQuery = Partial<
  Record<'page' | 'page_size' | 'cursor' | 'status' | 'event_type' | 'event_id' | 'since' | 'until', string>
>

/** `next_cursor` is empty at the end of the log. */
export const deliveryPageShape = object({ items: listOf(deliveryShape), next_cursor: text })
export type DeliveryPage = Of<typeof deliveryPageShape>

const attemptShape = object(
  {
    number,
    started_at: text,
    duration_ms: number,
    /** The phases that ended: `dns_ms`, `connect_ms`, `tls_ms`, `first_byte_ms`. */
    phases: mapOf(number),
    /** Empty after a success. */
    error: text,
    peer_address: text,
    answer: text,
  },
  {
    http_status: number,
    /** Set for the error `tls_error` if the cause is known, such as `certificate_expired`. */
    tls_problem: text,
  },
)
export type DeliveryAttempt = Of<typeof attemptShape>

export const deliveryDetailShape = object({
  ...DELIVERY,
  next_attempt_at: text,
  attempt_log: listOf(attemptShape),
})
export type DeliveryDetail = Of<typeof deliveryDetailShape>

const RECOVERY = {
  id: text,
  endpoint_id: text,
  /** `failed` or `all`. */
  what: text,
  /** `running`, `done`, `cancelled` or `stopped`. */
  state: text,
  since: text,
  until: text,
  matched: number,
  queued: number,
  created_at: text,
}
/** A recovery in a list. Only the response for a single recovery counts its delivered and failed deliveries. */
const listedRecoveryShape = object(RECOVERY)
export type ListedRecovery = Of<typeof listedRecoveryShape>
export const recoveryPageShape = object({ items: listOf(listedRecoveryShape), next_cursor: text })
export type RecoveryPage = Of<typeof recoveryPageShape>

export const recoveryShape = object({ ...RECOVERY, delivered: number, failed: number })
export type Recovery = Of<typeof recoveryShape>

export const testEventShape = object({ event_id: text, queued: boolean })
export type TestEvent = Of<typeof testEventShape>

export const sampleShape = object({ id: text, type: text, created_at: text, data: object({}) })
export type Sample = Of<typeof sampleShape>

const TOKEN = {
  id: text,
  name: text,
  hint: text,
  scope: text,
  created_at: text,
  expires_at: text,
  /** Empty until it is used. */
  last_used_at: text,
}
export const personalTokenShape = object({ ...TOKEN, status: text })
export type PersonalToken = Of<typeof personalTokenShape>

/** The answer to creating a token: the only time it is shown. */
export const createdTokenShape = object({ ...TOKEN, token: text })
export type CreatedToken = Of<typeof createdTokenShape>
