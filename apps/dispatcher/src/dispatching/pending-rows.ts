import { setTimeout as sleep } from 'node:timers/promises'
import { Batches, type Queryable } from '@signet/db'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import { writeDeliveries } from './first-attempt-store.js'

export type PendingRowsDeps = {
  db: Queryable
  retryWhileUnavailable: RetryWhileUnavailable
  now: () => Date
}

/** The deliveries of one event. */
type Rows = readonly DeliverySnapshot[]

const LINGER_MS = 2
const MAX_EVENTS = 64
/** Most events have few deliveries. */
const MAX_ROWS = 1000
const LOCKED_MS = 100

/**
 * Writes rows of deliveries before their first results, those of many events in one statement: while the database is slow, all events
 * need that, and a commit for each would make it slower. No event waits for the lock on another.
 */
export class PendingRows {
  readonly #batches: Batches<Rows, 'written' | 'locked'>

  constructor({ db, retryWhileUnavailable, now }: PendingRowsDeps) {
    this.#batches = new Batches({
      send: async (events) => {
        const locked = await retryWhileUnavailable(() =>
          writeDeliveries(db, events.flat(), now(), { skipLocked: true }),
        )
        return events.map(([first]) => (first && locked.has(first.eventId) ? 'locked' : 'written'))
      },
      shareOf: ([first]) => first?.endpoint.accountId ?? '',
      lingerMs: LINGER_MS,
      maxItems: MAX_EVENTS,
      bytesOf: ({ length }) => length,
      maxBytes: MAX_ROWS,
      underWay: 1,
    })
  }

  /** Resolves when each of these deliveries has a row, or its event is purged or gone. */
  async write(deliveries: Rows): Promise<void> {
    while ((await this.#batches.add(deliveries)) === 'locked') await sleep(LOCKED_MS)
  }
}
