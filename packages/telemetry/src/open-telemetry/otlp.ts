import type { PushMetricExporter } from '@opentelemetry/sdk-metrics'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { OtlpOptions } from '../otlp-options.js'

// Each protocol is loaded only when used: gRPC alone takes several megabytes of memory.

export async function spanExporter(options: OtlpOptions): Promise<SpanExporter> {
  if (options.protocol === 'grpc') {
    const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-grpc')
    return new OTLPTraceExporter(await grpcOptions(options))
  }
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-proto')
  return new OTLPTraceExporter(await httpOptions(options))
}

export async function metricExporter(options: OtlpOptions): Promise<PushMetricExporter> {
  if (options.protocol === 'grpc') {
    const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-grpc')
    return new OTLPMetricExporter(await grpcOptions(options))
  }
  const { OTLPMetricExporter } = await import('@opentelemetry/exporter-metrics-otlp-proto')
  return new OTLPMetricExporter(await httpOptions(options))
}

async function httpOptions({ url, headers, ...options }: OtlpOptions) {
  return { url, headers: { ...headers }, ...(await common(options)) }
}

async function grpcOptions({ url, headers, ...options }: OtlpOptions) {
  const { Metadata } = await import('@grpc/grpc-js')
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  return { url, metadata, ...(await common(options)) }
}

async function common({ timeoutMs, compression }: Pick<OtlpOptions, 'timeoutMs' | 'compression'>) {
  const { CompressionAlgorithm } = await import('@opentelemetry/otlp-exporter-base')
  return {
    timeoutMillis: timeoutMs,
    compression: compression === 'gzip' ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
  }
}
