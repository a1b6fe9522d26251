export type SpanKind = 'server' | 'client' | 'internal'
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

export type SpanOptions = {
  kind?: SpanKind
  attributes?: SpanAttributes
  /** A `traceparent` header that the span continues, instead of the span at hand. */
  traceparent?: string | undefined
}

export type Span = {
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** Marks the span as failed. `type` is a code or a class of errors, never a message: those may hold personal data. */
  fail(type: string): void
  end(): void
}

/** Where spans go. Code that makes them knows no tracing library, and has none while tracing is off. */
export type Tracing = {
  start(name: string, options?: SpanOptions): Span
  /** Runs `work` with `span` as the parent of the spans that it makes. */
  within<T>(span: Span, work: () => T): T
  /** A span around the whole of `work`, which fails when `work` does. */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>
  /** Sends what is left, as long as that takes less than a few seconds. */
  close(): Promise<void>
}

/** The names of OTEL_TRACES_SAMPLER. */
export const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
export type SamplerName = (typeof samplerNames)[number]
