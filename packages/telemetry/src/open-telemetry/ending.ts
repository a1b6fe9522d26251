import pTimeout from 'p-timeout'
import type { Logger } from '../logger.js'

/** Well below the ten seconds that a process has for stopping. */
const FLUSH_LIMIT_MS = 3000

/** Waits briefly for the last export: a collector that is down must not block a deploy. */
export async function endWithin(shutdown: Promise<void>, log: Logger): Promise<void> {
  const ended = shutdown.catch((error: unknown) =>
    log.warn('the last telemetry could not be exported', { error }),
  )
  await pTimeout(ended, { milliseconds: FLUSH_LIMIT_MS, message: false })
}
