import { setTimeout as wait } from 'node:timers/promises'
import type { Context } from '../command/context.js'
import { NetworkError, ServerFailureError } from '../errors.js'

const INTERVAL_MS = 2000

/**
 * Loads and shows, again every two seconds, which is a twentieth of what the service allows, until `show` says that it is
 * over or the user interrupts. The first failure ends it; an outage that comes later is said once and waited for.
 */
export async function poll<T>(
  { output, interruption }: Pick<Context, 'output' | 'interruption'>,
  { load, show }: { load: () => Promise<T>; show: (value: T) => { over: boolean } },
): Promise<void> {
  const interrupted = interruption()
  if (show(await load()).over) return
  output.note('Waiting for more. Ctrl-C ends it.')
  let isAway = false
  while (!interrupted.aborted) {
    await wait(INTERVAL_MS, undefined, { signal: interrupted }).catch(() => undefined)
    if (interrupted.aborted) return
    try {
      if (show(await load()).over) return
      isAway = false
    } catch (error) {
      if (!(error instanceof NetworkError || error instanceof ServerFailureError)) throw error
      if (!isAway) output.warn(`${error.message}. Trying again.`)
      isAway = true
    }
  }
}
