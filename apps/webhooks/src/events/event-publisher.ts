import { setImmediate as turn } from 'node:timers/promises'
import type { EventToPublish, WebhookQueues } from '@signet/webhook-core/queue'

type Deps = {
  queues: Pick<WebhookQueues, 'addEvents'>
  /** Called for events that could not be queued, which the sweeper finds. */
  onMissed: (count: number, error: unknown) => void
}

const BATCH = 500
/** Maximum events kept while Redis hangs. The sweeper finds the rows of all others (docs/specification.md#delivery-pipeline). */
const MAX_WAITING = 10_000

/**
 * Adds committed events to the queue after the response has been sent, so that no caller waits for Redis. Events of one commit are
 * added together, and so are those that arrive while a batch is being added (decision 0162).
 */
export class EventPublisher {
  readonly #deps: Deps
  #waiting: EventToPublish[] = []
  #sending: Promise<void> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  publish(event: EventToPublish): void {
    if (this.#waiting.length >= MAX_WAITING)
      return this.#deps.onMissed(1, new Error('too many events wait for Redis'))
    this.#waiting.push(event)
    this.#sending ??= this.#sendAll()
  }

  /** Resolves when everything published so far has been sent or dropped. */
  async close(): Promise<void> {
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    // The callers of one commit continue one after the other. Without this wait, the first event would be added alone.
    await turn()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH)
      try {
        await this.#deps.queues.addEvents(batch)
      } catch (error) {
        this.#deps.onMissed(batch.length, error)
      }
    }
    this.#sending = undefined
  }
}
