export type SpanKind = 'server' | 'client' | 'internal'
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

export type SpanOptions = {
  kind?: SpanKind
  attributes?: SpanAttributes
  /** A `traceparent` header that the span continues, instead of the current span. */
  traceparent?: string | undefined
}

export type Span = {
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** Marks the span as failed. `type` is an error code or class, never a message, which may contain personal data. */
  fail(type: string): void
  end(): void
}

/** Creates spans. Callers depend on no tracing library, and none is loaded while tracing is off (decision 0040). */
export type Tracing = {
  start(name: string, options?: SpanOptions): Span
  /** Runs `work` with `span` as the parent of its spans. */
  within<T>(span: Span, work: () => T): T
  /** Runs `work` inside a span, which fails if `work` does. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>
  /** Sends remaining spans, for at most a few seconds. */
  close(): Promise<void>
}

/** Values of OTEL_TRACES_SAMPLER. */
export const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
export type SamplerName = (typeof samplerNames)[number]
