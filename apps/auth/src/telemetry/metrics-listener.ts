import { listen, metricsHandler, type Listener } from '@signet/http'
import type { MetricsRegistry } from '@signet/telemetry'
import express from 'express'
import type { AuthConfig } from '../config/config.js'

/** Prometheus scrapes a separate listener, path `/` (docs/specification.md#tracing-and-metrics). */
export function startMetricsListener(
  { prometheusHost: host, prometheusPort: port }: Pick<AuthConfig, 'prometheusHost' | 'prometheusPort'>,
  registry: MetricsRegistry,
): Promise<Listener> {
  const app = express().disable('x-powered-by')
  app.get('/', metricsHandler(registry))
  const settings = { port: 'OTEL_EXPORTER_PROMETHEUS_PORT', host: 'OTEL_EXPORTER_PROMETHEUS_HOST' }
  return listen(app, { port, host, settings })
}
