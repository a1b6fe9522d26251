import { isUniqueViolation, type Queryable } from '@signet/db'
import type { DeliveryId } from '@signet/webhook-core'
import { exchangeJson, rowKey, type AttemptResult } from './attempt-store.js'
import { durationMsOf } from './attempt-duration.js'

// The statement sees everything except the locked rows as of its start, and does not overwrite later changes: an attempt inserted
// meanwhile has the number that this one would get, and a lost one that was replaced has a key. It then starts again. It locks the event
// because one that is being purged must keep no response.
const COUNT = {
  name: 'count-repeated-attempt',
  text: `
  with kept as materialized (
    select case when state <> 'purged' then $10::text end as answer from webhook_events
    where id = (select event_id from webhook_deliveries where id = $1) for share
  ),
  delivery as materialized (
    select id from webhook_deliveries where id = $1 and (select count(*) from kept) > 0 for no key update
  ),
  known as (
    select number from webhook_attempts where delivery_id = $1 and key = $3
  ),
  lost as (
    select number from webhook_attempts
    where delivery_id = $1 and number = $2 and key is null and error = 'interrupted' and not exists (select from known)
  ),
  found as (
    update webhook_attempts set started_at = $4, duration_ms = $5, http_status = $6, error = $7, url_version = $8, exchange = $9,
      answer = (select answer from kept), key = $3
    where exists (select from delivery) and delivery_id = $1 and number = (select number from lost) and key is null
    returning number
  ),
  added as (
    insert into webhook_attempts
      (delivery_id, number, started_at, duration_ms, http_status, error, url_version, exchange, answer, key)
    select id,
      1 + greatest(
        (select attempts from webhook_deliveries where id = $1),
        (select max(number) from webhook_attempts where delivery_id = $1)
      ),
      $4, $5, $6, $7, $8, $9, (select answer from kept), $3
    from delivery where not exists (select from known) and not exists (select from lost)
    returning number
  ),
  counted as (
    update webhook_deliveries set attempts = (select number from added) where id = $1 and exists (select from added)
    returning attempts
  )
  select exists (select from known) or exists (select from found) or exists (select from added) as is_counted,
    coalesce((select attempts from counted), (select attempts from webhook_deliveries where id = $1)) as attempts
  from delivery`,
}

/**
 * Counts and logs an attempt whose number is already recorded, unless that entry is this attempt. If the entry is an interrupted
 * attempt, this one replaces it; otherwise this one gets the next number. The state of the delivery and its next due time stay as
 * they are. Returns how many attempts the delivery has; null if it is gone.
 */
export async function countRepeatedAttempt(db: Queryable, result: AttemptResult): Promise<number | null> {
  const parameters = [
    result.deliveryId,
    result.number,
    result.key,
    result.startedAt,
    durationMsOf(result),
    result.httpStatus ?? null,
    result.outcome.kind === 'delivered' ? '' : result.outcome.error,
    result.urlVersion,
    result.facts ? exchangeJson(result.facts) : null,
    result.answer || null,
  ]
  for (;;) {
    const counted = await db
      .query<{ is_counted: boolean; attempts: number }>(COUNT, parameters)
      .catch((error: unknown) => {
        if (isUniqueViolation(error)) return undefined
        throw error
      })
    if (!counted) continue
    const [row] = counted.rows
    if (!row) return null
    if (row.is_counted) return row.attempts
  }
}

/** The ids of the first deliveries of these events to these endpoints, by `rowKey`. Leaves out those that have no rows. */
export async function findWrittenIds(
  db: Queryable,
  results: readonly AttemptResult[],
): Promise<ReadonlyMap<string, DeliveryId>> {
  const { rows } = await db.query<{ ord: string; id: DeliveryId }>(
    `select r.ord, d.id from unnest($1::text[], $2::bigint[]) with ordinality as r (event_id, endpoint_id, ord)
     cross join lateral (
       select d.id from webhook_deliveries d
       -- "+ 0": see record-statement.ts.
       where d.event_id = r.event_id and d.endpoint_id + 0 = r.endpoint_id and d.replay = 0
       offset 0
     ) d`,
    [results.map(({ eventId }) => eventId), results.map(({ endpointId }) => endpointId)],
  )
  const found = new Map<string, DeliveryId>()
  for (const { ord, id } of rows) {
    const result = results[Number(ord) - 1]
    if (result) found.set(rowKey(result), id)
  }
  return found
}
