import pTimeout from 'p-timeout'
import type { Queryable } from '@signet/db'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import { countDisabledEndpoints, readBacklog, readUndispatched } from './backlog/backlog-store.js'
import { readSwitch } from './operations/operator-store.js'
import { Gauge, type Registry } from 'prom-client'

export type BacklogGaugesDeps = {
  db: Queryable
  queues: WebhookQueues
  registry: Registry
  now: () => Date
}

type Source = () => Promise<Record<string, number>>

/** Upper bound on a scrape's wait for PostgreSQL or Redis. Gauges without an answer are left out. */
const SCRAPE_TIMEOUT_MS = 2000

/** Gauges computed on each scrape: the backlog in the tables and in the queues. */
export function registerBacklogGauges({ db, queues, registry, now }: BacklogGaugesDeps): void {
  const backlog = shared(async () => {
    const { pending, due, oldestDueAt } = await readBacklog(db, now())
    const oldest = oldestDueAt ? Math.max(0, (now().getTime() - oldestDueAt.getTime()) / 1000) : 0
    return { pending, due, oldest }
  })
  single(registry, 'pending', 'Pending deliveries, counted up to 100,000', backlog)
  single(registry, 'due', 'Pending deliveries that are due, counted up to 100,000', backlog)
  single(registry, 'oldest', 'Age of the oldest due delivery in seconds', backlog, 'oldest_due_age_seconds')
  const undispatched = shared(async () => {
    const { events, oldestAt } = await readUndispatched(db)
    return { events, age: oldestAt ? Math.max(0, (now().getTime() - oldestAt.getTime()) / 1000) : 0 }
  })
  single(
    registry,
    'events',
    'Events not dispatched yet, counted up to 100,000',
    undispatched,
    'undispatched_events',
  )
  single(
    registry,
    'age',
    'Age of the oldest undispatched event in seconds',
    undispatched,
    'oldest_undispatched_age_seconds',
  )
  const disabled = async () => ({ disabled: await countDisabledEndpoints(db) })
  single(registry, 'disabled', 'Disabled endpoints', disabled, 'disabled_endpoints')
  const paused = async () => ({ paused: (await readSwitch(db)).paused ? 1 : 0 })
  single(registry, 'paused', '1 while deliveries are paused by an operator', paused)
  queueGauge(registry, queues)
}

function single(registry: Registry, key: string, help: string, read: Source, name = key): void {
  new Gauge({
    name: `signet_delivery_${name}`,
    help,
    registers: [registry],
    async collect() {
      this.remove()
      const value = (await inTime(read()))?.[key]
      if (value !== undefined) this.set(value)
    },
  })
}

function queueGauge(registry: Registry, queues: WebhookQueues): void {
  new Gauge({
    name: 'signet_delivery_queue_jobs',
    help: 'Jobs in each queue by state; one of the events queue holds up to 32 events',
    labelNames: ['queue', 'state'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const queue of [queues.events, queues.deliveries]) {
        const counts = (await inTime(queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed'))) ?? {}
        for (const [state, count] of Object.entries(counts)) this.set({ queue: queue.name, state }, count)
      }
    },
  })
}

/** Several gauges of one scrape share one read. */
function shared(read: Source): Source {
  let current: ReturnType<Source> | undefined
  return () => {
    current ??= read().finally(() => (current = undefined))
    return current
  }
}

const inTime = <T>(work: Promise<T>): Promise<T | undefined> =>
  pTimeout(
    work.catch(() => undefined),
    { milliseconds: SCRAPE_TIMEOUT_MS, message: false },
  )
