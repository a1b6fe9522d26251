import type { Queryable } from '@signet/db'
import type { EndpointId } from '@signet/webhook-core'
import { cancelBacklog, type BacklogPosition } from '@signet/webhook-core/stores'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import type { Observer } from '../observers/observer.js'

export type BacklogCancellerDeps = {
  db: Queryable
  retryWhileUnavailable: RetryWhileUnavailable
  observer: Pick<Observer, 'cancellingFailed'>
  /** Deliveries that one statement cancels. */
  pageSize?: number
}

const PAGE = 1000

/**
 * Cancels the pending deliveries of endpoints that were disabled or deleted, a page at a time: a receiver that was down for days may
 * have millions, and results must not wait for them. Endpoints take turns. If a process dies, the sweeper requests the rest again; an
 * attempt that runs first ends its delivery the same way.
 */
export class BacklogCanceller {
  /** The position from which each endpoint continues; null at the beginning. */
  readonly #positions = new Map<EndpointId, BacklogPosition | null>()
  #running: Promise<void> | undefined
  #isStopping = false

  constructor(private readonly deps: BacklogCancellerDeps) {}

  /** Starts cancelling soon, unless it is already running. */
  request(endpointId: EndpointId): void {
    if (!this.#positions.has(endpointId)) this.#positions.set(endpointId, null)
    if (!this.#isStopping) this.#running ??= this.#run()
  }

  /** Resolves when nothing is left to cancel. */
  async finished(): Promise<void> {
    await this.#running
  }

  /** Ends after the current page. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        const [next] = this.#positions
        if (next === undefined || this.#isStopping) return
        const [endpointId, position] = next
        const reached = await this.#cancel(endpointId, position)
        this.#positions.delete(endpointId)
        // Reinserted at the end, so that the other endpoints come first.
        if (reached !== null) this.#positions.set(endpointId, reached)
      }
    } finally {
      // Clear this in the same tick as the last check. A request in between would see a run in progress and never be handled.
      this.#running = undefined
    }
  }

  async #cancel(endpointId: EndpointId, position: BacklogPosition | null): Promise<BacklogPosition | null> {
    const { db, retryWhileUnavailable, observer, pageSize = PAGE } = this.deps
    try {
      const { next } = await retryWhileUnavailable(() => cancelBacklog(db, endpointId, position, pageSize))
      return next
    } catch (error) {
      observer.cancellingFailed(endpointId, error)
      return null
    }
  }
}
