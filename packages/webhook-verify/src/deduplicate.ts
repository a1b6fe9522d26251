import { randomUUID } from 'node:crypto'
import { EventInProgressError } from './errors.js'
import type { WebhookEvent } from './events.js'

/** `claimed`: the caller may process it. `in_progress`: another one does. `done`: it was processed. */
export type Claim = 'claimed' | 'in_progress' | 'done'

/**
 * Remembers which events were processed. All processes of a receiver share it, so it is a database unless there is only one
 * process.
 */
export type EventStore = {
  /**
   * Takes an event for `leaseSeconds` in the name of `owner`. Atomic: of concurrent callers one gets `claimed`. A claim whose
   * lease has expired may be taken by another owner, because its own has died.
   */
  claim(eventId: string, owner: string, leaseSeconds: number): Claim | Promise<Claim>
  /** The event was processed and is `done` from now on, no matter who holds the claim. */
  complete(eventId: string, owner: string): void | Promise<void>
  /** Processing failed: gives the claim back, if `owner` still holds it. */
  release(eventId: string, owner: string): void | Promise<void>
}

export type DeduplicateOptions = {
  store: EventStore
  /** How long processing may take. After that the next delivery of the event is processed as well. Default 60. */
  leaseSeconds?: number
}

type Rest = readonly unknown[]

/**
 * Calls `onEvent` once for each event id, however often it is delivered: the first delivery is processed, a repeat is
 * not. An event whose processing failed, or whose process died, is processed again when it is redelivered. A repeat that arrives while
 * the first is being processed fails with `EventInProgressError`, which the handlers answer 409: a 2xx would promise what
 * may still fail, and the sender would not come back (decision 0171).
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
    // If the store fails as well, report the first error; the lease ends by itself.
    await Promise.resolve()
      .then(giveBack)
      .catch(() => undefined)
    throw error
  }
}
