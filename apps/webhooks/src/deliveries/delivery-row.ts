import type {
  DeliveryId,
  DeliveryStatus,
  EndpointId,
  EventId,
  EventType,
  TlsProblem,
} from '@signet/webhook-core'

/** One row of the delivery log. */
export type Delivery = {
  id: DeliveryId
  endpointId: EndpointId
  eventId: EventId
  eventType: EventType
  status: DeliveryStatus
  attempts: number
  lastError: string
  deliveredAt: Date | null
  createdAt: Date
  /** Its position in the log. */
  key: LogKey
}

/** Milliseconds of each phase that ended. A reused connection only has `first_byte`. */
export type Phases = Partial<Record<'dns' | 'connect' | 'tls' | 'first_byte', number>>

export type Attempt = {
  number: number
  startedAt: Date
  durationMs: number
  /** Null without a response. */
  httpStatus: number | null
  error: string
  /** Set if `error` is `tls_error` and the cause is known. */
  tlsProblem: TlsProblem | undefined
  phases: Phases
  peer: string
  answer: string
}

export type DeliveryDetail = { delivery: Delivery; nextAttemptAt: Date | null; attempts: Attempt[] }

/** A position in an endpoint's log. The time is PostgreSQL's text, with microseconds. */
export type LogKey = { createdAt: string; id: DeliveryId }

/** The owner of the log. Reading it requires the account id, like every query for tenant data: an endpoint id alone reads nothing. */
export type LogOwner = { accountId: string; endpointId: EndpointId }

export type DeliveryFilter = {
  status?: DeliveryStatus | undefined
  eventType?: EventType | undefined
  eventId?: EventId | undefined
  /** Created at this time or later. RFC 3339 in UTC, with six digits of a second. */
  since?: string | undefined
  /** Created before this time. */
  until?: string | undefined
}

/** The endpoint $1 if it belongs to the account $2, so that statements about another account's log find nothing. */
export const OWN_ENDPOINT =
  '(select id from webhook_endpoints where id = $1 and account_id = $2 and deleted_at is null)'

/** The largest id that a row can have. */
export const MAX_ID = '9223372036854775807'

export const LOG_ORDER = 'created_at desc, id desc'

export type DeliveryRow = {
  id: DeliveryId
  endpoint_id: EndpointId
  event_id: EventId
  event_type: EventType
  status: DeliveryStatus
  attempts: number
  last_error: string
  delivered_at: Date | null
  created_at: Date
  created: string
}

export const DELIVERY_COLUMNS = `id, endpoint_id, event_id, event_type, status, attempts, last_error, delivered_at, created_at,
  created_at::text as created`

export const toDelivery = (row: DeliveryRow): Delivery => ({
  id: row.id,
  endpointId: row.endpoint_id,
  eventId: row.event_id,
  eventType: row.event_type,
  status: row.status,
  attempts: row.attempts,
  lastError: row.last_error,
  deliveredAt: row.delivered_at,
  createdAt: row.created_at,
  key: { createdAt: row.created, id: row.id },
})
