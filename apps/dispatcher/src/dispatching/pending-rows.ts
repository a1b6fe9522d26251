import { Batches, type Queryable } from '@signet/db'
import type { RetryWhileUnavailable } from '../database/retry-while-unavailable.js'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import { writeDeliveries } from './first-attempt-store.js'
import { LOCKED, untilUnlocked } from './until-unlocked.js'

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

/**
 * Writes rows of deliveries before their first results, those of many events in one statement: while the database is slow, all events
 * need that, and a commit for each would make it slower. No event waits for the lock on another.
 */
export class PendingRows {
  readonly #batches: Batches<Rows, boolean | typeof LOCKED>

  constructor({ db, retryWhileUnavailable, now }: PendingRowsDeps) {
    this.#batches = new Batches({
      send: async (events) => {
        const { written, locked } = await retryWhileUnavailable(() =>
          writeDeliveries(db, events.flat(), now(), { skipLocked: true }),
        )
        return events.map(([first]) => {
          if (first && locked.has(first.eventId)) return LOCKED
          return first !== undefined && written.has(first.eventId)
        })
      },
      shareOf: ([first]) => first?.endpoint.accountId ?? '',
      lingerMs: LINGER_MS,
      maxItems: MAX_EVENTS,
      bytesOf: ({ length }) => length,
      maxBytes: MAX_ROWS,
      underWay: 1,
    })
  }

  /** True once each of these deliveries has a row; false if the event was purged or is gone. */
  write(deliveries: Rows): Promise<boolean> {
    return untilUnlocked(() => this.#batches.add(deliveries))
  }
}
