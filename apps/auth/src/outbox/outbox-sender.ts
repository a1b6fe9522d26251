import { AsyncResource } from 'node:async_hooks'
import type { OutboxHandler } from './outbox-handler.js'
import { OutboxWorker, type OutboxWorkerDeps } from './outbox-worker.js'

type Deps = OutboxWorkerDeps & { pollMs: number; handlers: readonly OutboxHandler<object>[] }

/**
 * Sends the messages of the outbox, in the process that answers requests. Each kind has its own worker, so a slow mail
 * server does not hold up SMS. Any number of replicas may run one: each message is claimed by one replica at a time.
 */
export class OutboxSender {
  readonly #workers: ReadonlyMap<string, OutboxWorker>
  #polling: Promise<void> | undefined

  constructor(private readonly deps: Deps) {
    this.#workers = new Map(deps.handlers.map((handler) => [handler.kind, new OutboxWorker(handler, deps)]))
  }

  /**
   * Sends each message once it is committed, and every `pollMs` picks up retries and messages left by a process that
   * died. The returned function finishes messages in flight and leaves the rest to the next process.
   */
  start(): () => Promise<void> {
    const { store, pollMs } = this.deps
    // Outside the async context of the request that just committed: its trace and limits end with its answer.
    store.onCommitted = AsyncResource.bind((kind: string) => this.#workers.get(kind)?.wake())
    const timer = setInterval(() => void this.poll(), pollMs)
    timer.unref()
    void this.poll()
    return async () => {
      clearInterval(timer)
      store.onCommitted = () => undefined
      await this.#polling
      await Promise.all([...this.#workers.values()].map((worker) => worker.stop()))
    }
  }

  /** Wakes the workers that have something due. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => (this.#polling = undefined))
    return this.#polling
  }

  /** Resolves when everything that is due has had its attempt. */
  async settled(): Promise<void> {
    const workers = [...this.#workers.values()]
    // Sending a message of one kind may add messages of another.
    while (workers.some((worker) => worker.isBusy))
      await Promise.all(workers.map((worker) => worker.settled()))
  }

  async #poll(): Promise<void> {
    const { db, store, observer, now } = this.deps
    try {
      for (const kind of await store.dueKinds(db, [...this.#workers.keys()], now()))
        this.#workers.get(kind)?.wake()
    } catch (error) {
      observer.outboxUnreachable('all', error)
    }
  }
}
