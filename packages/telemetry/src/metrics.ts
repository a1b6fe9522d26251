import { Registry, collectDefaultMetrics } from 'prom-client'

export type MetricsRegistry = Registry

/**
 * A registry of its own for each context, so that two apps in one test process do not share counters.
 * `runtime` adds process and event-loop metrics; they hold timers, so tests leave them out.
 */
export function createRegistry({ runtime }: { runtime: boolean }): MetricsRegistry {
  const registry = new Registry()
  if (runtime) collectDefaultMetrics({ register: registry })
  return registry
}
