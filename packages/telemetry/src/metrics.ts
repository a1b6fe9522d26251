import { Registry, collectDefaultMetrics } from 'prom-client'

export type MetricsRegistry = Registry

/**
 * Creates a registry for one context, so that two apps in one test process do not share counters. `runtime` adds process and event-loop
 * metrics, which use timers, so tests disable it.
 */
export function createRegistry({ runtime }: { runtime: boolean }): MetricsRegistry {
  const registry = new Registry()
  if (runtime) collectDefaultMetrics({ register: registry })
  return registry
}
