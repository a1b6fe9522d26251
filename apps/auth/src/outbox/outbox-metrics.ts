import type { Queryable } from '@signet/db'
import type { MetricsRegistry } from '@signet/telemetry'
import { Gauge } from 'prom-client'
import type { OutboxStore, Waiting } from './outbox-store.js'

type Deps = { db: Queryable; store: OutboxStore; kinds: readonly string[]; now: () => Date }

/** How many messages wait, and for how long, read from the database when metrics are collected. */
export function registerOutboxMetrics(registry: MetricsRegistry, { db, store, kinds, now }: Deps): void {
  const gauge = (name: string, help: string, valueOf: (waiting: Waiting) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['kind'],
      registers: [registry],
      async collect() {
        // Other metrics show that the database is unreachable; these keep their last values.
        const waiting = await store.waiting(db).catch(() => null)
        if (waiting === null) return
        for (const kind of kinds) {
          const found = waiting.find((row) => row.kind === kind)
          this.set({ kind }, found === undefined ? 0 : valueOf(found))
        }
      },
    })
  gauge('auth_outbox_waiting', 'Messages waiting in the outbox, by kind', ({ rows }) => rows)
  gauge(
    'auth_outbox_oldest_seconds',
    'Age of the oldest message waiting in the outbox, by kind; 0 when empty',
    ({ since }) => (now().getTime() - since.getTime()) / 1000,
  )
}
