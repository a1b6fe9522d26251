import winston from 'winston'
import { LineBatch } from './line-batch.js'
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

const LEVELS = Object.fromEntries(logLevels.map((level, index) => [level, index])) as Record<LogLevel, number>

/** What a line says; the rest are the words of the setting. */
const WORDS: Partial<Record<LogLevel, string>> = { warn: 'warning' }

/** One JSON object a line: `{"time","level","component","msg",…fields}`. */
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
    // What comes later, such as a connection that breaks after the end, has nobody left to tell.
    close() {
      closed = true
      batch.close()
      return new Promise((resolve) => target.once('finish', resolve).end())
    },
  }
}

/** Writes texts as they are: level and form of a line are settled before. */
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
