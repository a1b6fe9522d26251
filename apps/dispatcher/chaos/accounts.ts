import type { Db } from '@signet/db'
import type { ReceivedRequest } from './faulty-receiver.js'
import type { Acknowledged, EventKind } from './load.js'

/**
 * Whether a request that was answered meanwhile may be sent again. `counted`: its result or its job's lock may be lost, but every
 * attempt counts all the same. `uncounted`: Redis may lose the job itself, and then no process knows about an attempt that another one
 * is making (docs/failures.md#first-attempts-of-a-lost-run).
 */
export type Repeats = 'never' | 'counted' | 'uncounted'

/** Event and endpoint: two processes that read the same event give the delivery different ids, and only one of these is written. */
export const keyOf = (event: string, path: string): string => `${event} ${path}`

export type FaultPeriod = {
  from: number
  /** Deliveries that had been made and recorded by then, by {@link keyOf}. */
  recorded: ReadonlySet<string>
  to: number
  /** How long connections may still wait after the fault's end. */
  lingersMs: number
  repeats: Repeats
}

export type Account = {
  acknowledged: Record<EventKind, number>
  deliveries: number
  delivered: number
  /** Deliveries that ended with status 2, by reason. */
  ended: Record<string, number>
  /** Requests that were answered with 200 after an earlier one had been. */
  repeats: number
  /** Empty if nothing was lost. */
  problems: string[]
}

/** A delivery in the table. `path` is that of its endpoint's URL. */
export type DeliveryRow = {
  id: string
  event_id: string
  path: string
  status: number
  attempts: number
  last_error: string
  /** Attempts recorded as timed out: when each began and ended, in milliseconds. */
  timeouts: (readonly [from: number, to: number])[]
}

export type Observed = {
  acknowledged: readonly Acknowledged[]
  refusals: readonly string[]
  requests: readonly ReceivedRequest[]
  faults: readonly FaultPeriod[]
}

/** Until a lost job is handed out again, its first process may continue it: 10 s of its lock, and 3 s between two checks. */
export const STALL_MS = 13_000

/** How far the clocks of two processes may differ. */
const CLOCKS_MS = 1_000

/** Deliveries made and recorded so far, by {@link keyOf}. */
export async function deliveredSoFar(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await db.query<{ event_id: string; path: string }>(
    `select d.event_id, ${PATH} as path from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
     where d.status = 1`,
  )
  return new Set(rows.map(({ event_id, path }) => keyOf(event_id, path)))
}

const PATH = "regexp_replace(e.url, '^https://[^/]+', '')"

/** Compares what the API promised with the table and with what the receiver got. */
export async function settleAccounts(db: Db, observed: Observed): Promise<Account> {
  const { rows } = await db.query<DeliveryRow>(
    `select d.id, d.event_id, d.status, d.attempts, d.last_error, ${PATH} as path, array(
       select json_build_array(ms, ms + duration_ms)
       from webhook_attempts, lateral (select extract(epoch from started_at) * 1000 as ms) start
       where delivery_id = d.id and error = 'timeout'
     ) as timeouts
     from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where d.event_id = any ($1)`,
    [observed.acknowledged.map(({ eventId }) => eventId)],
  )
  return compare(rows, observed)
}

export function compare(rows: readonly DeliveryRow[], observed: Observed): Account {
  const { acknowledged, refusals, requests, faults } = observed
  const byEvent = groupBy(rows, ({ event_id }) => event_id)
  const timeouts = new Map(rows.map((row) => [keyOf(row.event_id, row.path), row.timeouts]))
  const received = groupBy(requests, ({ eventId, path }) => keyOf(eventId, path))
  const problems: string[] = [...refusals]
  for (const { kind, eventId, deliveries } of acknowledged) {
    const made = byEvent.get(eventId)?.length ?? 0
    if (made !== deliveries)
      problems.push(`${kind} ${eventId} was acknowledged and has ${made} deliveries instead of ${deliveries}`)
  }
  for (const row of rows) {
    const got = received.get(keyOf(row.event_id, row.path)) ?? []
    if (row.status === 0) problems.push(`delivery ${row.id} is stuck after ${row.attempts} attempts`)
    if (row.status === 1 && !got.some(isAnswered))
      problems.push(`delivery ${row.id} is called delivered and never arrived`)
    if (row.status === 2 && row.last_error === '') problems.push(`delivery ${row.id} ended without a reason`)
    if (
      row.attempts < got.length &&
      !got.some(({ at }) => faults.some((fault) => fault.repeats === 'uncounted' && isDuring(at, fault)))
    )
      problems.push(`delivery ${row.id} counts ${row.attempts} attempts, and ${got.length} requests arrived`)
  }
  let repeats = 0
  for (const [key, got] of received) {
    const answers = got.flatMap(({ answeredAt }) => answeredAt ?? []).sort((a, b) => a - b)
    // Each request but the last was repeated, so its own result was lost.
    for (const [index, again] of answers.slice(1).entries()) {
      const answeredAt = answers[index] ?? 0
      repeats += 1
      const mayLose = (fault: FaultPeriod) =>
        fault.repeats !== 'never' &&
        (isDuring(answeredAt, fault) ||
          (answeredAt <= fault.from && fault.from < again && !fault.recorded.has(key)))
      // A busy machine answers some requests too late, and their attempts end before the answer is read.
      const isLate = timeouts
        .get(key)
        ?.some(([from, to]) => answeredAt > from - CLOCKS_MS && answeredAt < to + CLOCKS_MS)
      if (!isLate && !faults.some(mayLose))
        problems.push(`${key} was sent again at ${timeOf(answeredAt)}, with no fault to explain it`)
    }
  }
  const count = (kind: EventKind) => acknowledged.filter((event) => event.kind === kind).length
  return {
    acknowledged: { complete: count('complete'), prepared: count('prepared'), test: count('test') },
    deliveries: rows.length,
    delivered: rows.filter(({ status }) => status === 1).length,
    ended: countBy(rows.filter(({ status }) => status === 2).map(({ last_error }) => last_error)),
    repeats,
    problems,
  }
}

const isAnswered = ({ answeredAt }: ReceivedRequest) => answeredAt !== null

const isDuring = (time: number, { from, to, lingersMs }: FaultPeriod): boolean =>
  time > from && time < to + lingersMs + STALL_MS

const timeOf = (time: number) => new Date(time).toISOString()

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
