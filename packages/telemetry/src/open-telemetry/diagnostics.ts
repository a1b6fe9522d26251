import { diag, DiagLogLevel, type DiagLogFunction } from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
import type { Logger } from '../logger.js'

const REPEAT_AFTER_MS = 60_000

/**
 * Forwards messages of the SDK to the process log: all of them with `debug`, otherwise only failures. Each kind is logged at most once
 * a minute, because when a collector is down, exports fail every few seconds.
 */
export function useDiagnostics(log: Logger, debug: boolean): void {
  const seldom = throttle()
  const to =
    (level: 'warn' | 'info'): DiagLogFunction =>
    (message, ...rest) => {
      if (debug || seldom(message))
        log.log(level, 'OpenTelemetry', { detail: [message, ...rest].map(String) })
    }
  diag.setLogger(
    { error: to('warn'), warn: to('warn'), info: to('info'), debug: to('info'), verbose: to('info') },
    { logLevel: debug ? DiagLogLevel.ALL : DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  setGlobalErrorHandler((error) => {
    if (debug || seldom('export')) log.warn('telemetry could not be exported', { error })
  })
}

function throttle(): (key: string) => boolean {
  const last = new Map<string, number>()
  return (key) => {
    const now = performance.now()
    if (now - (last.get(key) ?? -Infinity) < REPEAT_AFTER_MS) return false
    // The messages contain counts, so the number of kinds must be limited here.
    if (last.size > 100) last.clear()
    last.set(key, now)
    return true
  }
}
