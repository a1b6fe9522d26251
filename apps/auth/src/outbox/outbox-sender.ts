import { AsyncResource } from 'node:async_hooks'
import { Periodic } from '@signet/periodic'
import type { OutboxHandler } from './outbox-handler.js'
import { claimMs, OutboxWorker, type OutboxWorkerDeps } from './outbox-worker.js'
import { SenderPresence, type PresenceDeps } from './sender-presence.js'

/** Timers may fire a little early. A message that is not due yet would have to wait for the next poll. */
const TIMER_TOLERANCE_MS = 5
/** The longest timeout that PostgreSQL accepts. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

type Deps = OutboxWorkerDeps & PresenceDeps & { pollMs: number; handlers: readonly OutboxHandler<object>[] }

/**
 * Sends the messages of the outbox, in the process that answers requests. Each kind has its own worker, so a slow mail server does not hold
 * up SMS. Any number of replicas may do this, because only one of them at a time can claim a message.
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
   * Sends each message once it is committed and due. Every `pollMs`, picks up retries and messages left by a process that died. The
   * returned function waits for messages in flight, but not for long, and leaves the rest to the next process.
   */
  start(): () => Promise<void> {
    const { store } = this.deps
    // Runs outside the async context of the request that just committed, because its trace and time limit end with its answer.
    store.onCommitted = AsyncResource.bind((kind: string, delayMs: number) => {
      const wake = () => this.#workers.get(kind)?.wake()
      if (delayMs === 0) wake()
      else setTimeout(wake, delayMs + TIMER_TOLERANCE_MS).unref()
    })
    const leave = this.#presence.start()
    this.#polls.start()
    return async () => {
      store.onCommitted = () => undefined
      // Stop the workers first. One that finishes while a poll ends would otherwise claim another message.
      const stopped = [...this.#workers.values()].map((worker) => worker.stop())
      await this.#polls.stop()
      await Promise.all(stopped)
      await leave()
    }
  }

  /** Wakes the workers that have due messages. */
  poll(): Promise<void> {
    return this.#polls.request()
  }

  /** Resolves when every due message has been attempted. */
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
