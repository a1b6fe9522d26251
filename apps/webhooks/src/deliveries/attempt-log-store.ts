import type { Queryable } from '@signet/db'
import type { DeliveryId, TlsProblem } from '@signet/webhook-core'
import {
  DELIVERY_COLUMNS,
  OWN_ENDPOINT,
  toDelivery,
  type Attempt,
  type Delivery,
  type DeliveryRow,
  type LogOwner,
  type Phases,
} from './delivery-row.js'

type DetailRow = DeliveryRow & { next_attempt_at: Date | null }

type AttemptRow = {
  number: number
  started_at: Date
  duration_ms: number
  http_status: number | null
  error: string
  exchange: (Phases & { peer?: string; tls_problem?: TlsProblem }) | null
  answer: string | null
}

/** Returns one delivery of an endpoint of the account, or null if there is none. */
export async function findDelivery(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  id: DeliveryId,
): Promise<{ delivery: Delivery; nextAttemptAt: Date | null } | null> {
  const { rows } = await db.query<DetailRow>(
    `select ${DELIVERY_COLUMNS}, next_attempt_at from webhook_deliveries
     where id = $3 and endpoint_id = ${OWN_ENDPOINT}`,
    [endpointId, accountId, id],
  )
  const [row] = rows
  return row ? { delivery: toDelivery(row), nextAttemptAt: row.next_attempt_at } : null
}

/** The beginning of a body, and the size of the whole body. */
export type Payload = { text: string; bytes: number }

/** Returns the first `maxLength` characters of the frozen body of a delivery's event, or null if there is none. */
export async function findPayload(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  { id, maxLength }: { id: DeliveryId; maxLength: number },
): Promise<Payload | null> {
  const { rows } = await db.query<Payload>(
    `select left(e.body, $4) as text, octet_length(e.body) as bytes from webhook_deliveries d join webhook_events e on e.id = d.event_id
     where d.id = $3 and e.body is not null and d.endpoint_id = ${OWN_ENDPOINT}`,
    [endpointId, accountId, id, maxLength],
  )
  return rows[0] ?? null
}

/** The attempts of a delivery, in the order in which they were recorded. */
export async function findAttempts(
  db: Queryable,
  { accountId, endpointId }: LogOwner,
  id: DeliveryId,
): Promise<Attempt[]> {
  const { rows } = await db.query<AttemptRow>(
    // "offset 0" keeps the planner from looking for the id in the index of the endpoint's log, which may be long.
    `select number, started_at, duration_ms, http_status, error, exchange, answer
     from webhook_attempts
     where delivery_id = (
       select id from (select id, endpoint_id from webhook_deliveries where id = $3 offset 0) d
       where d.endpoint_id = ${OWN_ENDPOINT}
     )
     order by number`,
    [endpointId, accountId, id],
  )
  return rows.map(({ exchange, ...row }) => {
    const { peer = '', tls_problem: tlsProblem, ...phases } = exchange ?? {}
    return {
      number: row.number,
      startedAt: row.started_at,
      durationMs: row.duration_ms,
      httpStatus: row.http_status,
      error: row.error,
      tlsProblem,
      phases,
      peer,
      answer: row.answer ?? '',
    }
  })
}
