import { listen, metricsHandler, type Listener } from '@signet/http'
import { type MetricsRegistry } from '@signet/telemetry'
import express from 'express'
import { type AuthConfig } from './config.js'

/** Prometheus scrapes on a listener of its own, path `/` (contract 12.5); null when that is not switched on. */
export function startMetricsListener(
  config: AuthConfig,
  registry: MetricsRegistry,
): Promise<Listener> | null {
  if (!servesMetrics(config)) return null
  const app = express().disable('x-powered-by')
  app.get('/', metricsHandler(registry))
  return listen(app, { port: config.prometheusPort, host: config.prometheusHost })
}

export const servesMetrics = ({ metricsEnabled, metricsExporter }: AuthConfig): boolean =>
  metricsEnabled && metricsExporter === 'prometheus'
