import { DELIVERY_BACKOFF } from '@signet/webhook-core/queue'

/** Jobs name the strategy in their options; all of ours name this one. */
export const backoffOf =
  (backoff: (failures: number, error?: Error) => number) =>
  (attemptsMade: number, type?: string, error?: Error): number => {
    if (type !== DELIVERY_BACKOFF) throw new Error(`unknown backoff ${type}`)
    return backoff(attemptsMade, error)
  }

/** Delay after the nth consecutive failure on our side: 1 s, doubling up to a minute. */
export const internalFailureDelayMs = (failures: number): number =>
  Math.min(1000 * 2 ** Math.min(failures - 1, 10), 60_000)
