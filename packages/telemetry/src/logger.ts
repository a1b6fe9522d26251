import winston from 'winston'
import { redact } from './redact.js'

/** Most severe first. `panic` and `fatal` exist because the auth contract names them (section 11, LOG_LEVEL). */
export const logLevels = ['panic', 'fatal', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof logLevels)[number]
type LogFields = Readonly<Record<string, unknown>>

/** Structured logging: a fixed message and fields. Fields are redacted by the logger, not by its callers. */
export type Logger = {
  log(level: LogLevel, message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
  /** A logger that adds `fields` to every line. */
  child(fields: LogFields): Logger
  /** Resolves when what was logged so far is written. */
  close(): Promise<void>
}

export type LoggerOptions = {
  level: LogLevel
  /** Becomes the `component` of each line. */
  component: string
  /** Write to this file instead of standard output. */
  file?: string | undefined
  /** For tests: receives each line instead. */
  sink?: (line: string) => void
}

const LEVELS = Object.fromEntries(logLevels.map((level, index) => [level, index]))

/** One JSON object a line: `{"time","level","component","msg",…fields}`. */
export function createLogger(options: LoggerOptions): Logger {
  const winstonLogger = winston.createLogger({
    levels: LEVELS,
    level: options.level,
    format: winston.format.printf((info) => String(info['line'])),
    transports: [transportFor(options)],
  })
  return wrap(winstonLogger, { closed: false }, { component: options.component })
}

function wrap(target: winston.Logger, state: { closed: boolean }, base: LogFields): Logger {
  const log = (level: LogLevel, message: string, fields: LogFields = {}) => {
    // A connection that breaks after the end has nobody left to tell.
    if (state.closed || !target.isLevelEnabled(level)) return
    const record = redact({ ...base, ...fields }) as LogFields
    const line = JSON.stringify({ time: new Date().toISOString(), level, msg: redact(message), ...record })
    target.log({ level, message: '', line })
  }
  return {
    log,
    error: (message, fields) => log('error', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    info: (message, fields) => log('info', message, fields),
    debug: (message, fields) => log('debug', message, fields),
    child: (fields) => wrap(target, state, { ...base, ...fields }),
    close: () =>
      new Promise((resolve) => {
        state.closed = true
        target.once('finish', () => resolve())
        target.end()
      }),
  }
}

function transportFor({ file, sink }: LoggerOptions): winston.transport {
  if (sink) return new SinkTransport(sink)
  if (file !== undefined) return new winston.transports.File({ filename: file })
  return new winston.transports.Stream({ stream: process.stdout, eol: '\n' })
}

class SinkTransport extends winston.transports.Stream {
  constructor(sink: (line: string) => void) {
    super({ stream: process.stdout })
    this.log = (info: { line: string }, next: () => void) => {
      sink(info.line)
      next()
    }
  }
}
