import { diag, DiagLogLevel, type DiagLogFunction } from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
import { type Logger } from '../logger.js'

const REPEAT_AFTER_MS = 60_000

/**
 * Sends what the SDK has to say to the process log: with `debug` all of it, else its failures, one kind at most once a
 * minute, because a collector that is down fails every few seconds.
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
    // The texts carry counts, so their number is bounded here and not by the SDK.
    if (last.size > 100) last.clear()
    last.set(key, now)
    return true
  }
}
