import winston from 'winston'
import { LineBatch } from './line-batch.js'
import { redact } from './redact.js'

/** Most severe first. Includes `panic` and `fatal` because supabase/auth accepts them in LOG_LEVEL. */
export const logLevels = ['panic', 'fatal', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof logLevels)[number]
type LogFields = Readonly<Record<string, unknown>>

/** Structured logging: a constant message and fields. The logger redacts fields; callers do not have to. */
export type Logger = {
  log(level: LogLevel, message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
  /** A logger that adds `fields` to every line. */
  child(fields: LogFields): Logger
  /** Resolves when everything logged so far is written. */
  close(): Promise<void>
}

export type LoggerOptions = {
  level: LogLevel
  /** Value of `component` in each line. */
  component: string
  /** Write to this file instead of standard output. */
  file?: string | undefined
  /** For tests: receives each line instead. */
  sink?: (line: string) => void
}

const LEVELS = Object.fromEntries(logLevels.map((level, index) => [level, index])) as Record<LogLevel, number>

/** Level names in log lines, where they differ from the setting. */
const WORDS: Partial<Record<LogLevel, string>> = { warn: 'warning' }

/** Writes one JSON object per line: `{"time","level","component","msg",…fields}`. */
export function createLogger(options: LoggerOptions): Logger {
  return wrap(createOutput(options), { component: options.component })
}

function wrap(output: Output, base: LogFields): Logger {
  const log = (level: LogLevel, message: string, fields: LogFields = {}) => {
    if (!output.takes(level)) return
    const line = {
      time: new Date().toISOString(),
      level: WORDS[level] ?? level,
      msg: message,
      ...base,
      ...fields,
    }
    output.write(JSON.stringify(redact(line)))
  }
  return {
    log,
    error: (message, fields) => log('error', message, fields),
    warn: (message, fields) => log('warn', message, fields),
    info: (message, fields) => log('info', message, fields),
    debug: (message, fields) => log('debug', message, fields),
    child: (fields) => wrap(output, { ...base, ...fields }),
    close: () => output.close(),
  }
}

/** Where the lines of a logger and its children go. */
type Output = {
  takes(level: LogLevel): boolean
  write(line: string): void
  close(): Promise<void>
}

function createOutput({ level: lowest, file, sink }: LoggerOptions): Output {
  let closed = false
  const takes = (level: LogLevel) => !closed && LEVELS[level] <= LEVELS[lowest]
  if (sink) {
    const close = () => Promise.resolve(void (closed = true))
    return { takes, write: sink, close }
  }
  const target = createTarget(file)
  const batch = new LineBatch((text) => target.info(text))
  return {
    takes,
    write: (line) => batch.add(line),
    // Anything logged later, such as a connection that breaks after the end, is dropped.
    close() {
      closed = true
      batch.close()
      return new Promise((resolve) => target.once('finish', resolve).end())
    },
  }
}

/** Writes lines unchanged: level and format are already decided. */
function createTarget(file: string | undefined): winston.Logger {
  const transport =
    file === undefined
      ? new winston.transports.Stream({ stream: process.stdout, eol: '\n' })
      : new winston.transports.File({ filename: file })
  return winston.createLogger({
    format: winston.format.printf(({ message }) => String(message)),
    transports: [transport],
  })
}
