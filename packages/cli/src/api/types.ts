// The fields that commands read. `--json` also prints those that a newer service adds.

/** A webhook as the service lists it. Status 1 is active, 2 disabled. */
export type Webhook = {
  id: string
  url: string
  events: string[]
  status: number
  consecutive_failures: number
  /** Empty, each, when it does not apply. */
  failing_since: string
  disabled_at: string
  disabled_reason: string
  secret_activates_at: string
  created_at: string
  updated_at: string
}

/** The answer to creating a webhook: the only time its secret is shown. */
export type CreatedWebhook = {
  endpoint_id: string
  secret: string
  url: string
  events: string[]
  status: number
}

/** The answer to a rotation: the only time the next secret is shown. */
export type NextSecret = { endpoint_id: string; secret: string; secret_activates_at: string }

/** Status 0 is pending, 1 delivered, 2 failed permanently. */
export type Delivery = {
  id: string
  endpoint_id: string
  event_id: string
  event_type: string
  status: number
  attempts: number
  last_error: string
  delivered_at: string
  created_at: string
}

export type DeliveryQuery = Partial<
  Record<'page' | 'page_size' | 'cursor' | 'status' | 'event_type' | 'event_id' | 'since' | 'until', string>
>

/** `next_cursor` is empty at the end of the log. */
export type DeliveryPage = { items: Delivery[]; next_cursor: string }

export type DeliveryAttempt = {
  number: number
  started_at: string
  duration_ms: number
  /** As far as they ended: `dns_ms`, `connect_ms`, `tls_ms`, `first_byte_ms`. */
  phases: Record<string, number>
  http_status?: number
  /** Empty after a success. */
  error: string
  peer_address: string
  answer: string
}

export type DeliveryDetail = Delivery & { next_attempt_at: string; attempt_log: DeliveryAttempt[] }

/** As in a list: only the response about a single recovery counts its delivered and failed deliveries. */
export type ListedRecovery = Omit<Recovery, 'delivered' | 'failed'>
export type RecoveryPage = { items: ListedRecovery[]; next_cursor: string }

export type Recovery = {
  id: string
  endpoint_id: string
  what: 'failed' | 'all'
  /** `running`, `done`, `cancelled` or `stopped`. */
  state: string
  since: string
  until: string
  matched: number
  queued: number
  delivered: number
  failed: number
  created_at: string
}

export type TestEvent = { event_id: string; queued: boolean }

export type Sample = { id: string; type: string; created_at: string; data: Record<string, unknown> }

export type PersonalToken = {
  id: string
  name: string
  hint: string
  scope: string
  created_at: string
  expires_at: string
  /** Empty until it is used. */
  last_used_at: string
  status: string
}

/** The answer to creating a token: the only time it is shown. */
export type CreatedToken = Omit<PersonalToken, 'status'> & { token: string }
