import type { Db } from '@signet/db'
import type { Receipt } from './faulty-receiver.js'
import type { Load } from './load.js'

export type Period = { from: number; to: number }

export type Account = {
  acknowledged: { summaries: number; tests: number }
  deliveries: number
  delivered: number
  /** Ended with status 2, by reason. */
  ended: Record<string, number>
  duplicates: number
  /** All empty when nothing was lost. */
  problems: string[]
}

type Row = { id: string; event_id: string; status: number; attempts: number; last_error: string }

/** An attempt in flight when a fault began is repeated after it; so is one that a frozen worker ends late. */
const BEFORE_MS = 6_000
const AFTER_MS = 20_000

/** Compares what the API promised with the table and with what the receiver got. */
export async function settleAccounts(
  db: Db,
  {
    load: { acknowledged, refusals },
    receipts,
    faults,
  }: {
    load: Pick<Load, 'acknowledged' | 'refusals'>
    receipts: readonly Receipt[]
    faults: readonly Period[]
  },
): Promise<Account> {
  const { rows } = await db.query<Row>(
    'select id, event_id, status, attempts, last_error from webhook_deliveries where event_id = any ($1)',
    [acknowledged.map(({ eventId }) => eventId)],
  )
  const byEvent = groupBy(rows, ({ event_id }) => event_id)
  const byDelivery = groupBy(receipts, ({ deliveryId }) => deliveryId)
  const problems: string[] = [...refusals]
  for (const { kind, eventId, deliveries } of acknowledged) {
    const made = byEvent.get(eventId)?.length ?? 0
    if (made !== deliveries)
      problems.push(`${kind} ${eventId} was acknowledged and has ${made} deliveries instead of ${deliveries}`)
  }
  for (const row of rows) {
    const got = byDelivery.get(row.id)?.length ?? 0
    if (row.status === 0) problems.push(`delivery ${row.id} is stuck after ${row.attempts} attempts`)
    if (row.status === 1 && got === 0)
      problems.push(`delivery ${row.id} is called delivered and never arrived`)
    if (row.status === 2 && row.last_error === '') problems.push(`delivery ${row.id} ended without a reason`)
  }
  const duplicates = [...byDelivery.values()].filter((got) => got.length > 1)
  for (const [first] of duplicates) {
    const explained = faults.some(
      ({ from, to }) => first && first.at > from - BEFORE_MS && first.at < to + AFTER_MS,
    )
    if (!explained) problems.push(`delivery ${first?.deliveryId} arrived twice with no fault to explain it`)
  }
  return {
    acknowledged: {
      summaries: acknowledged.filter(({ kind }) => kind === 'summary').length,
      tests: acknowledged.filter(({ kind }) => kind === 'test').length,
    },
    deliveries: rows.length,
    delivered: rows.filter(({ status }) => status === 1).length,
    ended: countBy(rows.filter(({ status }) => status === 2).map(({ last_error }) => last_error)),
    duplicates: duplicates.reduce((sum, got) => sum + got.length - 1, 0),
    problems,
  }
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

const countBy = (words: readonly string[]): Record<string, number> =>
  Object.fromEntries([...groupBy(words, (word) => word)].map(([word, all]) => [word, all.length]))
