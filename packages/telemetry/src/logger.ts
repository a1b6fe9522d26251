import { appendFileSync } from 'node:fs'
import winston from 'winston'
import type Transport from 'winston-transport'
import { BatchTransport, LINE, LineTransport } from './line-transport.js'
import { redact } from './redact.js'
import { RepeatedWarning } from './repeated-warning.js'

/** Most severe first. Includes `panic` and `fatal` because supabase/auth accepts them in LOG_LEVEL. */
export const logLevels = ['panic', 'fatal', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof logLevels)[number]
/** winston reserves two names. */
type LogFields = Readonly<Record<string, unknown>> & { readonly level?: never; readonly message?: never }

/** Structured logging with a constant message and fields. The logger redacts fields, so callers need not. */
export type Logger = {
  log(level: LogLevel, message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
  /** Resolves when everything logged so far is written. */
  close(): Promise<void>
}

export type LoggerOptions = {
  level: LogLevel
  /** Value of `component` in each line. */
  component: string
  /** Writes to this file instead of standard output. */
  file?: string | undefined
  /** Writes to this stream instead of standard output. */
  stream?: NodeJS.WritableStream
  /** For tests. Receives each line instead. */
  sink?: (line: string) => void
}

const LEVELS = Object.fromEntries(logLevels.map((level, index) => [level, index])) as Record<LogLevel, number>

/** Level names in log lines that differ from those in the setting. */
const WORDS: ReadonlyMap<string, string> = new Map(Object.entries({ warn: 'warning' }))

/**
 * Names the members of a line, orders them and removes secrets. The result has no cycles and no big integers, so it does not need
 * winston's JSON format (decision 0151).
 */
const jsonLine = winston.format((info) => {
  const { level, message, ...fields } = info
  const line = { time: new Date().toISOString(), level: WORDS.get(level) ?? level, msg: message, ...fields }
  info[LINE] = JSON.stringify(redact(line))
  return info
})

/** Writes one JSON object per line: `{"time","level","msg","component",…fields}`. */
export function createLogger(options: LoggerOptions): Logger {
  const transport = createTransport(options)
  const logger = winston.createLogger({
    levels: LEVELS,
    level: options.level,
    format: jsonLine(),
    transports: [transport],
  })
  const { component } = options
  let closed = false
  const log = (level: LogLevel, message: string, fields?: LogFields) => {
    // Drops anything logged after `close`, for example when a connection then breaks.
    if (closed || !logger.isLevelEnabled(level)) return
    // Level and message come first: placed after a spread, they more than double the time that a line takes.
    logger.log({ level, message, component, ...fields })
  }
  return {
    log,
    error: (message, fields) => log('error', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    info: (message, fields) => log('info', message, fields),
    debug: (message, fields) => log('debug', message, fields),
    close() {
      closed = true
      return new Promise((resolve) => {
        transport.once('finish', resolve)
        logger.end()
      })
    },
  }
}

function createTransport({ file, sink, stream = process.stdout, component }: LoggerOptions): Transport {
  if (sink) return new LineTransport(sink)
  return new BatchTransport(
    file === undefined ? (text) => void stream.write(text) : appendTo(file, component),
  )
}

/**
 * Opens the file for each batch, so that a file that was moved away is made again. A full disk neither ends the service nor goes
 * unnoticed, as it does with winston's own transport.
 */
function appendTo(file: string, component: string): (text: string) => void {
  const standardError = createLogger({ level: 'warn', component, stream: process.stderr })
  const failures = new RepeatedWarning(
    standardError,
    'the log file cannot be written, and its lines are lost',
  )
  return (text) => {
    try {
      appendFileSync(file, text)
    } catch (error) {
      failures.warn(error)
    }
  }
}
