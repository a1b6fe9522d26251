import type { Db } from '@signet/db'
import { anEndpoint, aSummary, later, NOW, queueSummary } from '@signet/webhook-testkit'
import type { EventId } from '@signet/webhook-core'
import type { FirstResult } from '../../src/deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../../src/deliveries/delivery-store.js'
import { findEventSnapshots, writeDeliveries } from '../../src/dispatching/first-attempt-store.js'

export const DELIVERED = { kind: 'delivered' } as const

/** Helpers for tests of first results. They read `database.db` only when called, so it may be set later. */
export function firstResultsIn(database: { readonly db: Db }) {
  /** Inserts `count` queued events that have a body. */
  async function queued(accountId: string, count = 1, audioId?: string): Promise<EventId[]> {
    const body = '{"a":"é"}'
    const summaries = Array.from({ length: count }, () =>
      aSummary({ accountId, body, ...(audioId && { audioId }) }),
    )
    for (const summary of summaries) await queueSummary(database.db, summary)
    return summaries.map(({ eventId }) => eventId)
  }

  async function snapshotsFor(accountId: string, count = 1, audioId?: string): Promise<DeliverySnapshot[]> {
    const events = await findEventSnapshots(database.db, await queued(accountId, count, audioId))
    return events.flatMap(({ deliveries }) => deliveries)
  }

  return {
    queued,
    snapshotsFor,

    /**
     * Snapshots of events of two accounts that got the same delivery id: after a failover, the sequence issues ids again that were not yet
     * durable.
     */
    snapshotsWithOneId: async (): Promise<{ written: DeliverySnapshot; late: DeliverySnapshot }> => {
      const { db } = database
      const late = onlyOne(await snapshotsFor((await anEndpoint(db)).accountId))
      await db.query(`select setval('webhook_deliveries_id_seq', $1, false)`, [late.id])
      const written = onlyOne(await snapshotsFor((await anEndpoint(db)).accountId))
      if (written.id !== late.id) throw new Error('the sequence was used meanwhile')
      return { written, late }
    },

    rowsOf: async (accountId: string) => {
      const { rows } = await database.db.query<{ id: string; status: number; last_error: string }>(
        `select d.id, d.status, d.last_error from webhook_deliveries d join webhook_events e on e.id = d.event_id
         where e.account_id = $1 order by d.id`,
        [accountId],
      )
      return rows
    },
  }
}

/** Writes the rows of one event, for an `UnwrittenEvent`. */
export async function storeRows(db: Db, snapshots: readonly DeliverySnapshot[]): Promise<boolean> {
  const { written } = await writeDeliveries(db, snapshots, NOW)
  return snapshots.every(({ eventId }) => written.has(eventId))
}

export const resultOf = (
  { id, eventId, eventType, createdAt, endpoint }: DeliverySnapshot,
  outcome: FirstResult['outcome'],
): FirstResult => ({
  deliveryId: id,
  endpointId: endpoint.id,
  number: 1,
  key: 1,
  outcome,
  urlVersion: endpoint.urlVersion,
  startedAt: NOW,
  finishedAt: later(40),
  eventId,
  eventType,
  createdAt,
})

export function onlyOne<T>(list: readonly T[]): T {
  const [one, ...others] = list
  if (one === undefined || others.length > 0) throw new Error('exactly one')
  return one
}
