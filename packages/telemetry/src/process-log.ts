import { format } from 'node:util'
import { createLogger, type Logger, type LogLevel } from './logger.js'

/**
 * Creates a process's second log, in addition to the one of its work: library output, Node's warnings and uncaught errors become JSON
 * lines on standard error. Use it once per process, and only in services, because it takes over the console.
 */
export function createProcessLog(component: string): Logger {
  const log = createLogger({ level: 'info', component, stream: process.stderr })
  const print =
    (level: LogLevel) =>
    (...words: unknown[]) =>
      log.log(level, 'printed by a library', { text: format(...words) })
  const info = print('info')
  Object.assign(console, {
    debug: print('debug'),
    log: info,
    info,
    warn: print('warn'),
    error: print('error'),
  })
  // Node's own listener prints plain text.
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn('Node.js warning', { warning }))
  process.on('uncaughtException', (error, origin) => {
    log.log('fatal', 'nobody caught an error', { error, origin })
    process.exit(1)
  })
  return log
}
