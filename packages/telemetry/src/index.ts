export { createLogger, type Logger, type LogLevel, type LoggerOptions, logLevels } from './logger.js'
export { createProcessLog } from './process-log.js'
export { redact } from './redact.js'
export { RepeatedWarning } from './repeated-warning.js'
export { createRegistry, type MetricsRegistry } from './metrics.js'
export { newRequestId, pickRequestId, type RequestMeta } from './request-id.js'
export {
  samplerNames,
  type SamplerName,
  type Span,
  type SpanAttributes,
  type SpanKind,
  type SpanOptions,
  type Tracing,
} from './tracing.js'
export type { OtlpOptions } from './otlp-options.js'
