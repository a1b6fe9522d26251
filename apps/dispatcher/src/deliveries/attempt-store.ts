import { randomInt } from 'node:crypto'
import { isUniqueViolation, type Queryable } from '@signet/db'
import {
  countsAgainstEndpoint,
  type DeliveryId,
  type DeliveryStatus,
  type EndpointId,
  type EventId,
  type EventType,
  type FailureReason,
} from '@signet/webhook-core'
import type { ExchangeFacts } from '../sending/http-sender.js'
import { durationMsOf } from './attempt-duration.js'
import { RECORD_ATTEMPTS, RECORD_FIRST_ATTEMPTS, type ResultColumns } from './record-statement.js'

/** What an attempt means for its delivery. `error` is the new `last_error`. */
export type Outcome =
  | { kind: 'delivered' }
  | { kind: 'retry'; error: FailureReason; delayMs: number }
  | { kind: 'over'; error: FailureReason }

export type AttemptResult = {
  deliveryId: DeliveryId
  endpointId: EndpointId
  eventId: EventId
  /** 1 for the first attempt: `DeliverySnapshot.attempts` plus one. Recorded under another one if that is taken. */
  number: number
  /** `newAttemptKey` of this attempt; null for one that a lost process may have made and about which nothing else is known. */
  key: number | null
  outcome: Outcome
  /** Version of the URL that was tried. A failure of an older version does not count against the endpoint. */
  urlVersion: number
  startedAt: Date
  finishedAt: Date
  /** Undefined if there was no response. */
  httpStatus?: number
  facts?: ExchangeFacts
  /** The beginning of the response, printable. */
  answer?: string
}

/** Tells attempts apart: after a lost job lock, two processes may make one with the same number, and a process may report one twice. */
export const newAttemptKey = (): number => randomInt(2 ** 48 - 1)

/** The result of the first attempt of a delivery that has no row yet, and the rest of that row. */
export type FirstResult = AttemptResult & { eventType: EventType; createdAt: Date }

export type RecordedAttempt = {
  deliveryId: DeliveryId
  status: DeliveryStatus
  /** When to retry; null when the delivery has ended. */
  nextAttemptAt: Date | null
  lastError: string
  attempts: number
  /** True when this batch disabled the endpoint. */
  disabledEndpoint: boolean
  /** An attempt with its number was recorded before: this one or another one. */
  isRepeated: boolean
}

/** Rounds durations to whole milliseconds. Null for an attempt without a connection. */
export function exchangeJson(facts: ExchangeFacts): string | null {
  const known = Object.entries(facts).filter(([, value]) => value !== undefined)
  if (known.length === 0) return null
  return JSON.stringify(
    Object.fromEntries(
      known.map(([name, value]) => [name, typeof value === 'number' ? Math.round(value) : value]),
    ),
  )
}

type RecordedRow = {
  delivery_id: DeliveryId
  status: DeliveryStatus
  last_error: string
  attempts: number
  disables: boolean
  reported: boolean
  next_attempt_at: Date | null
}

/**
 * Commits the results of many attempts in one statement: deliveries, the failure counts of their endpoints, disabling an endpoint at
 * its 20th consecutive failure, the warnings to its owner, and the attempt log. The caller must cancel the other pending deliveries
 * of an endpoint that was disabled. Returns results in no particular order, and none for a delivery that is gone or whose id now
 * belongs to another one. Takes at most one result per delivery. If one `isRepeated`, the caller must still count its attempt
 * (`countRepeatedAttempt`).
 */
export async function recordAttempts(
  db: Queryable,
  results: readonly AttemptResult[],
): Promise<RecordedAttempt[]> {
  requireOneEach(results)
  if (results.length === 0) return []
  const { rows } = await db.query<RecordedRow>(
    RECORD_ATTEMPTS.query,
    RECORD_ATTEMPTS.valuesOf(columnsOf(results)),
  )
  return rows.map(toRecorded)
}

/**
 * The same for deliveries without a row, which get it with their result. `complete` names the events that have all of their
 * deliveries then, and so are dispatched. Records nothing, and returns no result, for a delivery that already has a row, even one of
 * another process (`findWrittenIds`), or whose event is gone. Throws a unique violation if one of the ids belongs to another
 * delivery.
 */
export async function recordFirstAttempts(
  db: Queryable,
  results: readonly FirstResult[],
  complete: readonly EventId[],
): Promise<RecordedAttempt[]> {
  requireOneEach(results)
  if (results.length === 0) return []
  const values = RECORD_FIRST_ATTEMPTS.valuesOf({
    ...columnsOf(results),
    event_type: results.map(({ eventType }) => eventType),
    created_at: results.map(({ createdAt }) => createdAt),
    complete_event_id: complete,
  })
  const record = () => db.query<RecordedRow>(RECORD_FIRST_ATTEMPTS.query, values)
  const { rows } = await record().catch((error: unknown) => {
    // Another statement wrote one of the deliveries while this one waited for a lock, and the next one sees it; or an id is taken.
    if (isUniqueViolation(error)) return record()
    throw error
  })
  return rows.map(toRecorded)
}

/** Unique among the results of one statement, because a row can take only one of them. */
export const rowKey = ({ eventId, endpointId }: AttemptResult): string => `${eventId} ${endpointId}`

function requireOneEach(results: readonly AttemptResult[]): void {
  if (new Set(results.map(rowKey)).size !== results.length) throw new RangeError('one result per delivery')
}

const columnsOf = (results: readonly AttemptResult[]): ResultColumns => ({
  delivery_id: results.map(({ deliveryId }) => deliveryId),
  endpoint_id: results.map(({ endpointId }) => endpointId),
  event_id: results.map(({ eventId }) => eventId),
  number: results.map(({ number }) => number),
  key: results.map(({ key }) => key),
  delivered: results.map(({ outcome }) => outcome.kind === 'delivered'),
  counts: results.map(({ outcome }) => outcome.kind !== 'delivered' && countsAgainstEndpoint(outcome.error)),
  error: results.map(({ outcome }) => (outcome.kind === 'delivered' ? null : outcome.error)),
  retry_at: results.map(({ outcome, finishedAt }) =>
    outcome.kind === 'retry' ? new Date(finishedAt.getTime() + outcome.delayMs) : null,
  ),
  url_version: results.map(({ urlVersion }) => urlVersion),
  started_at: results.map(({ startedAt }) => startedAt),
  finished_at: results.map(({ finishedAt }) => finishedAt),
  // Subtracting timestamps in the statement costs more than writing the row.
  duration_ms: results.map(durationMsOf),
  http_status: results.map(({ httpStatus }) => httpStatus ?? null),
  exchange: results.map(({ facts }) => facts && exchangeJson(facts)),
  answer: results.map(({ answer }) => answer || null),
})

const toRecorded = (row: RecordedRow): RecordedAttempt => ({
  deliveryId: row.delivery_id,
  status: row.status,
  nextAttemptAt: row.next_attempt_at,
  lastError: row.last_error,
  attempts: row.attempts,
  disabledEndpoint: row.disables,
  isRepeated: row.reported,
})

export type Attempt = {
  deliveryId: DeliveryId
  number: number
  startedAt: Date
  durationMs: number
  httpStatus: number | null
  error: FailureReason | ''
  urlVersion: number
  facts: ExchangeFacts
  /** The beginning of the response, which may repeat what was sent. */
  answer: string
}

type AttemptRow = {
  delivery_id: DeliveryId
  number: number
  started_at: Date
  duration_ms: number
  http_status: number | null
  error: FailureReason | ''
  url_version: number
  exchange: ExchangeFacts | null
  answer: string | null
}

/** The attempts of these deliveries, grouped by delivery, in the order in which they were recorded. */
export async function listAttempts(db: Queryable, deliveryIds: readonly DeliveryId[]): Promise<Attempt[]> {
  const { rows } = await db.query<AttemptRow>(
    `select delivery_id, number, started_at, duration_ms, http_status, error, url_version, exchange, answer
     from webhook_attempts where delivery_id = any ($1) order by delivery_id, number`,
    [deliveryIds],
  )
  return rows.map((row) => ({
    deliveryId: row.delivery_id,
    number: row.number,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    httpStatus: row.http_status,
    error: row.error,
    urlVersion: row.url_version,
    facts: row.exchange ?? {},
    answer: row.answer ?? '',
  }))
}
