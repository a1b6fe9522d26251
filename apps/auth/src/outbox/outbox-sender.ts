import { AsyncResource } from 'node:async_hooks'
import { Periodic } from '@signet/periodic'
import type { OutboxHandler } from './outbox-handler.js'
import { claimMs, OutboxWorker, type OutboxWorkerDeps } from './outbox-worker.js'
import { SenderPresence, type PresenceDeps } from './sender-presence.js'

/** Timers may fire a little early, and what is not due yet would wait for the next poll. */
const TIMER_TOLERANCE_MS = 5
/** PostgreSQL's maximum. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

type Deps = OutboxWorkerDeps & PresenceDeps & { pollMs: number; handlers: readonly OutboxHandler<object>[] }

/**
 * Sends the messages of the outbox, in the process that answers requests. Each kind has its own worker, so a slow mail
 * server does not hold up SMS. Any number of replicas may run one: each message is claimed by one replica at a time.
 */
export class OutboxSender {
  readonly #workers: ReadonlyMap<string, OutboxWorker>
  readonly #polls: Periodic
  readonly #presence: SenderPresence

  constructor(private readonly deps: Deps) {
    this.#polls = new Periodic({
      everyMs: deps.pollMs,
      run: () => this.#poll(),
      onError: (error) => deps.observer.outboxUnreachable('all', error),
    })
    this.#presence = new SenderPresence(
      deps,
      Math.min(Math.max(...deps.handlers.map(claimMs)), MAX_TIMEOUT_MS),
    )
    this.#workers = new Map(
      deps.handlers.map((handler) => [handler.kind, new OutboxWorker(handler, deps, this.#presence)]),
    )
  }

  /**
   * Sends each message once it is committed and due, and every `pollMs` picks up retries and messages left by a process that
   * died. The returned function finishes messages in flight, as far as they end soon, and leaves the rest to the next process.
   */
  start(): () => Promise<void> {
    const { store } = this.deps
    // Outside the async context of the request that just committed: its trace and limits end with its answer.
    store.onCommitted = AsyncResource.bind((kind: string, delayMs: number) => {
      const wake = () => this.#workers.get(kind)?.wake()
      if (delayMs === 0) wake()
      else setTimeout(wake, delayMs + TIMER_TOLERANCE_MS).unref()
    })
    const leave = this.#presence.start()
    this.#polls.start()
    return async () => {
      store.onCommitted = () => undefined
      // At once, or a worker that finishes while a poll ends would claim another message.
      const stopped = [...this.#workers.values()].map((worker) => worker.stop())
      await this.#polls.stop()
      await Promise.all(stopped)
      await leave()
    }
  }

  /** Wakes the workers that have something due. */
  poll(): Promise<void> {
    return this.#polls.request()
  }

  /** Resolves when everything that is due has had its attempt. */
  async settled(): Promise<void> {
    const workers = [...this.#workers.values()]
    // Sending a message of one kind may add messages of another.
    while (workers.some((worker) => worker.isBusy))
      await Promise.all(workers.map((worker) => worker.settled()))
  }

  async #poll(): Promise<void> {
    const { db, store, now } = this.deps
    await this.#presence.releaseAbandoned()
    for (const kind of await store.dueKinds(db, [...this.#workers.keys()], now()))
      this.#workers.get(kind)?.wake()
  }
}
