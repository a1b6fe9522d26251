import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import type { Logger } from '../logger.js'
import type { MetricsRegistry } from '../metrics.js'
import { useDiagnostics } from './diagnostics.js'
import { endWithin } from './ending.js'
import type { OtlpOptions } from '../otlp-options.js'
import { metricExporter } from './otlp.js'
import { RegistryProducer } from './registry-producer.js'
import { resourceOf, type ResourceAttributes } from './resource.js'

export type MetricPushOptions = {
  exporter: OtlpOptions
  resource: ResourceAttributes
  registry: MetricsRegistry
  intervalMs: number
  debug: boolean
  log: Logger
}

/** Pushes the metrics of a registry over OTLP periodically, and again on close. */
export async function startMetricPush(options: MetricPushOptions): Promise<{ close(): Promise<void> }> {
  const { exporter, resource, registry, intervalMs, debug, log } = options
  useDiagnostics(log, debug)
  const reader = new PeriodicExportingMetricReader({
    exporter: await metricExporter(exporter),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(intervalMs, exporter.timeoutMs),
    metricProducers: [new RegistryProducer(registry)],
  })
  const provider = new MeterProvider({ resource: resourceOf(resource), readers: [reader] })
  return { close: () => endWithin(provider.shutdown(), log) }
}
