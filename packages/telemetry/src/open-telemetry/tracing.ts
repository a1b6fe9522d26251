import { AsyncLocalStorage } from 'node:async_hooks'
import {
  ROOT_CONTEXT,
  SpanKind as Kind,
  SpanStatusCode,
  trace,
  type Context,
  type Span as OtelSpan,
  type Tracer,
} from '@opentelemetry/api'
import { parseTraceParent } from '@opentelemetry/core'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace'
import type { Logger } from '../logger.js'
import type { SamplerName, Span, SpanKind, SpanOptions, Tracing } from '../tracing.js'
import { useDiagnostics } from './diagnostics.js'
import { endWithin } from './ending.js'
import type { OtlpOptions } from '../otlp-options.js'
import { spanExporter } from './otlp.js'
import { resourceOf, type ResourceAttributes } from './resource.js'

export type TracingOptions = {
  exporter: OtlpOptions
  resource: ResourceAttributes
  sampler: { name: SamplerName; ratio: number }
  /** Maximum time in milliseconds that a span waits for others before it is sent. */
  delayMs: number
  debug: boolean
  log: Logger
}

/** Sends spans over OTLP in the background, and drops them if the collector cannot keep up. */
export async function startTracing(options: TracingOptions): Promise<Tracing> {
  const { exporter, resource, sampler, delayMs, debug, log } = options
  useDiagnostics(log, debug)
  const provider = new TracerProvider({
    resource: resourceOf(resource),
    sampler: samplerOf(sampler),
    spanLimits: { attributeValueLengthLimit: 256 },
    spanProcessors: [
      new BatchSpanProcessor({ exporter: await spanExporter(exporter), scheduledDelayMillis: delayMs }),
    ],
  })
  return new OpenTelemetryTracing(provider.getTracer('signet'), () => endWithin(provider.shutdown(), log))
}

const KINDS: Record<SpanKind, Kind> = { server: Kind.SERVER, client: Kind.CLIENT, internal: Kind.INTERNAL }

class OpenTelemetryTracing implements Tracing {
  // Not the library's global provider, so that two services in one process keep their traces apart.
  readonly #contexts = new AsyncLocalStorage<Context>()

  constructor(
    private readonly tracer: Tracer,
    readonly close: () => Promise<void>,
  ) {}

  start(name: string, { kind = 'internal', attributes = {}, traceparent }: SpanOptions = {}): RecordedSpan {
    const parent = continued(traceparent) ?? this.#contexts.getStore() ?? ROOT_CONTEXT
    return new RecordedSpan(this.tracer.startSpan(name, { kind: KINDS[kind], attributes }, parent))
  }

  within<T>(span: Span, work: () => T): T {
    if (!(span instanceof RecordedSpan)) return work()
    return this.#contexts.run(trace.setSpan(this.#contexts.getStore() ?? ROOT_CONTEXT, span.inner), work)
  }

  async span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
    const span = this.start(name, options)
    try {
      return await this.within(span, () => work(span))
    } catch (error) {
      span.fail(typeOf(error))
      throw error
    } finally {
      span.end()
    }
  }
}

class RecordedSpan implements Span {
  constructor(readonly inner: OtelSpan) {}

  rename(name: string): void {
    this.inner.updateName(name)
  }

  set(attributes: Readonly<Record<string, string | number | boolean>>): void {
    this.inner.setAttributes(attributes)
  }

  fail(type: string): void {
    this.inner.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', type)
  }

  end(): void {
    this.inner.end()
  }
}

function continued(traceparent: string | undefined): Context | undefined {
  const remote = traceparent === undefined ? null : parseTraceParent(traceparent)
  return remote ? trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true }) : undefined
}

/** Returns a code such as `57014` or `email_exists` if there is one, otherwise the class. Never returns the message. */
function typeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown }
  if (typeof code === 'string' && /^\w{1,64}$/.test(code)) return code
  return error instanceof Error ? error.name : typeof error
}

function samplerOf({ name, ratio }: TracingOptions['sampler']): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler()
    case 'always_off':
      return new AlwaysOffSampler()
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio)
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() })
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() })
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) })
  }
}
