import { setTimeout as wait } from 'node:timers/promises'
import type { Context } from '../command/context.js'
import { NetworkError, RateLimitedError, ServerFailureError, type CliError } from '../errors.js'

const INTERVAL_MS = 2000
const MAX_PAUSE_SECONDS = 3600

/**
 * Loads and shows every two seconds, until `show` reports the end or the user interrupts. That is 30 times a minute, while an account
 * may make 600 requests to the service: `load` decides how many of them to use. If the first call fails, polling ends. A later outage
 * or rate limit is reported once, and polling continues.
 */
export async function poll<T>(
  { output, interruption }: Pick<Context, 'output' | 'interruption'>,
  { load, show }: { load: () => Promise<T>; show: (value: T) => { over: boolean } },
): Promise<void> {
  const interrupted = interruption()
  if (show(await load()).over) return
  output.note('Waiting for more. Ctrl-C ends it.')
  let isAway = false
  let pauseMs = INTERVAL_MS
  while (!interrupted.aborted) {
    await wait(pauseMs, undefined, { signal: interrupted }).catch(() => undefined)
    if (interrupted.aborted) return
    try {
      if (show(await load()).over) return
      isAway = false
      pauseMs = INTERVAL_MS
    } catch (error) {
      if (!isPassing(error)) throw error
      if (!isAway) output.warn(`${error.message}. Trying again.`)
      isAway = true
      pauseMs = pauseAfter(error)
    }
  }
}

const isPassing = (error: unknown): error is CliError =>
  error instanceof NetworkError || error instanceof ServerFailureError || error instanceof RateLimitedError

const pauseAfter = (error: CliError): number =>
  error instanceof RateLimitedError
    ? Math.max(Math.min(error.retryAfterSeconds, MAX_PAUSE_SECONDS) * 1000, INTERVAL_MS)
    : INTERVAL_MS
