import type { EndpointId } from '@signet/webhook-core'

/**
 * Maximum age of a snapshot, counted from before its statement began, so that the snapshots of a dispatch that waited for a lock
 * are too old. About as long as the statement and the wait for a permit take together under load.
 */
export const FRESH_MS = 200

/**
 * Tells whether a snapshot may be used without reading the row again: never once this process has seen its endpoint disabled or
 * deleted since the snapshot was read.
 */
export class SnapshotFreshness {
  /** When an endpoint was last seen disabled or deleted, oldest first. Entries older than any fresh snapshot are dropped. */
  readonly #stoppedAt = new Map<EndpointId, number>()

  constructor(
    private readonly freshMs: number = FRESH_MS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** `readAt`: when the statement that read the snapshot began, by the clock of this process. */
  isFresh(endpointId: EndpointId, readAt: number): boolean {
    return this.now() - readAt <= this.freshMs && readAt > (this.#stoppedAt.get(endpointId) ?? -Infinity)
  }

  endpointStopped(endpointId: EndpointId): void {
    const now = this.now()
    for (const [id, since] of this.#stoppedAt) {
      if (now - since <= this.freshMs) break
      this.#stoppedAt.delete(id)
    }
    // Reinserted at the end, so that the map stays in order of time.
    this.#stoppedAt.delete(endpointId)
    this.#stoppedAt.set(endpointId, now)
  }
}
