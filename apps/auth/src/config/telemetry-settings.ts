import { boolean, choice, httpUrl, hostName, integer, parsed, text } from '@signet/config'
import { samplerNames } from '@signet/telemetry'

/**
 * Names and units follow the OpenTelemetry specification. As for all settings, the prefixed name wins
 * (docs/specification.md#configuration).
 */
const otel = (name: string) => [`AUTH_OTEL_${name}`, `OTEL_${name}`]

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** `key=value,key=value` with percent-encoding, the format of OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS. */
function keyValues(raw: string, isKey: (key: string) => boolean): Record<string, string> {
  const pairs = raw.split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      const [key, value] = [decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))]
      if (at < 1 || key === undefined || value === undefined || !isKey(key))
        throw new Error('must be key=value pairs, separated by commas and percent-encoded')
      return [key, value]
    }),
  )
}

function decoded(raw: string): string | undefined {
  try {
    return decodeURIComponent(raw.trim())
  } catch {
    return undefined
  }
}

/** Traces and metrics (docs/specification.md#tracing-and-metrics). */
export const telemetrySettings = {
  tracingEnabled: boolean({
    env: 'AUTH_TRACING_ENABLED',
    fallback: false,
    doc: 'Export traces; docs/telemetry.md says what is in them.',
  }),
  tracingExporter: choice({
    env: 'AUTH_TRACING_EXPORTER',
    choices: ['opentelemetry'],
    fallback: 'opentelemetry',
    doc: 'How traces are exported.',
  }),
  metricsEnabled: boolean({
    env: 'AUTH_METRICS_ENABLED',
    fallback: false,
    doc: 'Export metrics; docs/telemetry.md lists them.',
  }),
  metricsExporter: choice({
    env: 'AUTH_METRICS_EXPORTER',
    choices: ['opentelemetry', 'prometheus'],
    fallback: 'opentelemetry',
    doc: 'How metrics are exported: pushed over OTLP, or scraped from a separate listener.',
  }),
  prometheusHost: hostName({
    env: otel('EXPORTER_PROMETHEUS_HOST'),
    fallback: '0.0.0.0',
    doc: 'Address of the Prometheus listener, which answers on `/`.',
  }),
  prometheusPort: integer({
    env: otel('EXPORTER_PROMETHEUS_PORT'),
    fallback: 9100,
    max: 65535,
    doc: 'Port of the Prometheus listener.',
  }),
  otlpProtocol: choice({
    env: otel('EXPORTER_OTLP_PROTOCOL'),
    choices: ['http/protobuf', 'grpc'],
    fallback: 'http/protobuf',
    doc: 'Protocol of the OpenTelemetry collector.',
  }),
  otlpEndpoint: httpUrl({
    env: otel('EXPORTER_OTLP_ENDPOINT'),
    optional: true,
    fallbackDoc: '`http://localhost:4318`, with grpc `http://localhost:4317`',
    doc: 'Base URL of the collector; `/v1/traces` and `/v1/metrics` are added to it, except with grpc.',
  }),
  otlpTracesEndpoint: httpUrl({
    env: otel('EXPORTER_OTLP_TRACES_ENDPOINT'),
    optional: true,
    doc: 'Whole URL for traces, in place of the base URL.',
  }),
  otlpMetricsEndpoint: httpUrl({
    env: otel('EXPORTER_OTLP_METRICS_ENDPOINT'),
    optional: true,
    doc: 'Whole URL for metrics, in place of the base URL.',
  }),
  otlpHeaders: parsed({
    env: otel('EXPORTER_OTLP_HEADERS'),
    optional: true,
    secret: true,
    kind: 'key=value list',
    parse: (raw) => keyValues(raw, (key) => HEADER_NAME.test(key)),
    doc: 'Headers of each export, such as the key of a hosted collector.',
  }),
  otlpTimeout: integer({
    env: otel('EXPORTER_OTLP_TIMEOUT'),
    fallback: 10_000,
    min: 1,
    max: 600_000,
    doc: 'Milliseconds for one export, including retries.',
  }),
  otlpCompression: choice({
    env: otel('EXPORTER_OTLP_COMPRESSION'),
    choices: ['none', 'gzip'],
    fallback: 'none',
    doc: 'Compression of exports.',
  }),
  otelServiceName: text({
    env: otel('SERVICE_NAME'),
    optional: true,
    fallbackDoc: '`signet-auth`',
    doc: 'Resource attribute `service.name`; overrides the one in the list of attributes.',
  }),
  otelResourceAttributes: parsed({
    env: otel('RESOURCE_ATTRIBUTES'),
    optional: true,
    kind: 'key=value list',
    parse: (raw) => keyValues(raw, (key) => key !== ''),
    doc: 'More resource attributes of traces and metrics; values are percent-encoded.',
  }),
  tracesSampler: choice({
    env: otel('TRACES_SAMPLER'),
    choices: samplerNames,
    fallback: 'parentbased_always_on',
    doc: 'Which traces are recorded; `parentbased_…` follows the caller where it sends a `traceparent` header.',
  }),
  tracesSamplerRatio: parsed({
    env: otel('TRACES_SAMPLER_ARG'),
    fallback: 1,
    kind: 'number',
    parse: ratio,
    doc: 'Share of the traces that the `…traceidratio` samplers record, from 0 to 1.',
  }),
  bspScheduleDelay: integer({
    env: otel('BSP_SCHEDULE_DELAY'),
    fallback: 5000,
    min: 1,
    max: 600_000,
    doc: 'Milliseconds that a span waits to be batched.',
  }),
  metricExportInterval: integer({
    env: otel('METRIC_EXPORT_INTERVAL'),
    fallback: 60_000,
    min: 100,
    max: 3_600_000,
    doc: 'Milliseconds between two pushes of metrics.',
  }),
  debug: boolean({
    env: ['AUTH_DEBUG', 'DEBUG'],
    fallback: false,
    doc: 'Log the diagnostics of the OpenTelemetry SDK.',
  }),
}

function ratio(raw: string): number {
  const value = /^(\d+(\.\d+)?|\.\d+)$/.test(raw) ? Number(raw) : NaN
  if (!(value <= 1)) throw new Error('must be a number from 0 to 1')
  return value
}
