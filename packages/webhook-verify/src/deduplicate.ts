import { randomUUID } from 'node:crypto'
import { EventInProgressError } from './errors.js'
import type { WebhookEvent } from './events.js'

/** `claimed`: the caller may process the event. `in_progress`: another caller is processing it. `done`: it has been processed. */
export type Claim = 'claimed' | 'in_progress' | 'done'

/** Remembers which events have been processed. All processes of a receiver share it, so use a database unless there is only one process. */
export type EventStore = {
  /**
   * Claims an event for `leaseSeconds` for `owner`. Atomic: of concurrent callers, one gets `claimed`. Another owner may take a claim
   * whose lease has expired, because its owner has died.
   */
  claim(eventId: string, owner: string, leaseSeconds: number): Claim | Promise<Claim>
  /** Marks an event as processed. It is `done` from now on, no matter who holds the claim. */
  complete(eventId: string, owner: string): void | Promise<void>
  /** Releases the claim after processing failed, if `owner` still holds it. */
  release(eventId: string, owner: string): void | Promise<void>
}

export type DeduplicateOptions = {
  store: EventStore
  /** How long processing may take, in seconds. After that, the next delivery of the event is processed too. Default 60. */
  leaseSeconds?: number
}

type Rest = readonly unknown[]

/**
 * Calls `onEvent` once per event id, no matter how often the event is delivered: it processes the first delivery and skips repeats. If
 * processing failed, or its process died, the event is processed again when it is redelivered. A repeat that arrives while the first
 * delivery is being processed fails with `EventInProgressError`, to which the handlers answer 409: a 2xx would confirm an event that
 * may still fail, and the sender would not send it again (decision 0171).
 */
export function deduplicate<Args extends Rest, Result>(
  { store, leaseSeconds = 60 }: DeduplicateOptions,
  onEvent: (event: WebhookEvent, ...rest: Args) => Result | Promise<Result>,
): (event: WebhookEvent, ...rest: Args) => Promise<Result | undefined> {
  if (!(leaseSeconds > 0)) throw new RangeError('leaseSeconds must be a number above zero')
  return async (event, ...rest) => {
    const owner = randomUUID()
    const claim = await store.claim(event.id, owner, leaseSeconds)
    if (claim === 'in_progress') throw new EventInProgressError(event.id)
    if (claim === 'done') return undefined
    const result = await process(
      () => onEvent(event, ...rest),
      () => store.release(event.id, owner),
    )
    await store.complete(event.id, owner)
    return result
  }
}

async function process<T>(work: () => T | Promise<T>, giveBack: () => void | Promise<void>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    // If the store fails too, report the first error; the lease expires by itself.
    await Promise.resolve()
      .then(giveBack)
      .catch(() => undefined)
    throw error
  }
}
