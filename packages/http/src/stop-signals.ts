import { constants } from 'node:os'

/**
 * Lets SIGTERM and SIGINT end a command at once, with the exit code that shells report for it. Without a listener, process 1 of a
 * container never gets these signals.
 */
export function endOnSignals(): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
}
