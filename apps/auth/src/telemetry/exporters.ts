import type { Listener } from '@signet/http'
import type { Logger, MetricsRegistry, OtlpOptions, Tracing } from '@signet/telemetry'
import type { AuthConfig } from '../config/config.js'
import { service } from '../version.js'
import { startMetricsListener } from './metrics-listener.js'

// OpenTelemetry is loaded only here and only if enabled: it costs start-up time and memory.
const openTelemetry = () => import('@signet/telemetry/open-telemetry')

/** Traces over OTLP (docs/specification.md#tracing-and-metrics); undefined while disabled. */
export async function startTracing(config: AuthConfig, log: Logger): Promise<Tracing | undefined> {
  if (!config.tracingEnabled) return undefined
  return (await openTelemetry()).startTracing({
    exporter: otlp(config, config.otlpTracesEndpoint, '/v1/traces'),
    resource: resourceOf(config),
    sampler: { name: config.tracesSampler, ratio: config.tracesSamplerRatio },
    delayMs: config.bspScheduleDelay,
    debug: config.debug,
    log,
  })
}

/** Metrics, pushed or scraped (docs/specification.md#tracing-and-metrics); undefined while disabled. */
export async function startMetrics(
  config: AuthConfig,
  registry: MetricsRegistry,
  log: Logger,
): Promise<Pick<Listener, 'close'> | undefined> {
  if (!config.metricsEnabled) return undefined
  if (config.metricsExporter === 'prometheus') return startMetricsListener(config, registry)
  return (await openTelemetry()).startMetricPush({
    exporter: otlp(config, config.otlpMetricsEndpoint, '/v1/metrics'),
    resource: resourceOf(config),
    registry,
    intervalMs: config.metricExportInterval,
    debug: config.debug,
    log,
  })
}

function otlp(config: AuthConfig, own: string | undefined, path: string): OtlpOptions {
  const { otlpProtocol: protocol, otlpEndpoint: base } = config
  const url =
    protocol === 'grpc' ? (base ?? 'http://localhost:4317') : `${base ?? 'http://localhost:4318'}${path}`
  return {
    protocol,
    url: own ?? url,
    headers: config.otlpHeaders ?? {},
    timeoutMs: config.otlpTimeout,
    compression: config.otlpCompression,
  }
}

const resourceOf = (config: AuthConfig): Record<string, string> => ({
  'service.name': service.name,
  'service.version': service.version,
  ...config.otelResourceAttributes,
  ...(config.otelServiceName === undefined ? {} : { 'service.name': config.otelServiceName }),
  'auth.version': service.version,
})
