export { createLogger, type Logger, type LogLevel, type LoggerOptions, logLevels } from './logger.js'
export { redact } from './redact.js'
export { createRegistry, type MetricsRegistry } from './metrics.js'
export { newRequestId, pickRequestId } from './request-id.js'
