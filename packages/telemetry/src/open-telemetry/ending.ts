import { type Logger } from '../logger.js'

/** Well below the ten seconds that a process has to stop. */
const FLUSH_LIMIT_MS = 3000

/** Waits briefly for the last export: a collector that is down must not block a deploy. */
export async function endWithin(shutdown: Promise<void>, log: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, FLUSH_LIMIT_MS)
  })
  const ended = shutdown.catch((error: unknown) =>
    log.warn('the last telemetry could not be exported', { error }),
  )
  await Promise.race([ended, limit])
  clearTimeout(timer)
}
