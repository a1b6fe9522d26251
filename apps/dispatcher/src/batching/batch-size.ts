import { PAYLOAD_TARGET_BYTES } from '@signet/webhook-core'

const MAX_ITEMS = 64
/** Target size of a batch: its first item waits until the last one is read or written. */
export const BATCH_BYTES = 4 * 1024 * 1024

/** How many items go into a batch when their sizes are known only afterwards: as many as fit if they are like the last ones. */
export class BatchSize {
  /** Starts high: a process that ran out of memory must not start again with the batch that was too large for it. */
  #meanBytes = PAYLOAD_TARGET_BYTES

  get maxItems(): number {
    return Math.min(MAX_ITEMS, Math.max(1, Math.floor(BATCH_BYTES / this.#meanBytes)))
  }

  learn(sizes: readonly number[]): void {
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    if (sizes.length > 0) this.#meanBytes = Math.max(1, bytes / sizes.length)
  }
}
