import { AsyncResource } from 'node:async_hooks'
import type { OutboxHandler } from './outbox-handler.js'
import { OutboxLane, type LaneDeps } from './outbox-lane.js'

type Deps = LaneDeps & { pollMs: number; handlers: readonly OutboxHandler<object>[] }

/**
 * Sends the messages of the outbox, in the process that answers requests. Each kind has its own lane, so that a slow
 * mail server does not hold up SMS. Any number of replicas may run one: each message is claimed by one replica at a
 * time.
 */
export class OutboxSender {
  readonly #lanes: ReadonlyMap<string, OutboxLane>
  #polling: Promise<void> | undefined

  constructor(private readonly deps: Deps) {
    this.#lanes = new Map(deps.handlers.map((handler) => [handler.kind, new OutboxLane(handler, deps)]))
  }

  /**
   * Sends each message once it is committed, and every `pollMs` picks up retries and messages left by a process that
   * died. The returned function finishes messages in flight and leaves the rest to the next process.
   */
  start(): () => Promise<void> {
    const { outbox, pollMs } = this.deps
    // Outside the async context of the request that just committed: its trace and limits end with its answer.
    outbox.onCommitted = AsyncResource.bind((kind: string) => this.#lanes.get(kind)?.wake())
    const timer = setInterval(() => void this.poll(), pollMs)
    timer.unref()
    void this.poll()
    return async () => {
      clearInterval(timer)
      outbox.onCommitted = () => undefined
      await this.#polling
      await Promise.all([...this.#lanes.values()].map((lane) => lane.stop()))
    }
  }

  /** Wakes the lanes that have something due. */
  poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => (this.#polling = undefined))
    return this.#polling
  }

  /** Resolves when everything that is due has had its attempt. */
  async settled(): Promise<void> {
    const lanes = [...this.#lanes.values()]
    // Sending in one lane may add messages to another.
    while (lanes.some((lane) => lane.isBusy)) await Promise.all(lanes.map((lane) => lane.settled()))
  }

  async #poll(): Promise<void> {
    const { db, store, observer, now } = this.deps
    try {
      for (const kind of await store.dueKinds(db, [...this.#lanes.keys()], now()))
        this.#lanes.get(kind)?.wake()
    } catch (error) {
      observer.outboxUnreachable('all', error)
    }
  }
}
