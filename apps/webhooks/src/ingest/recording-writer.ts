import { Batches, type Queryable } from '@signet/db'
import { bytesOf } from './encoded-parts.js'
import { KeyTurns } from './key-turns.js'
import {
  writeRecordings,
  type FinalOutcome,
  type RecordingChange,
  type WriteOutcome,
} from './recording-store.js'

/** A larger item gets its own statement, which runs in parallel with those of small ones, so that these never wait for it. */
const LARGE_BYTES = 256 * 1024
const BATCH_BYTES = 1024 * 1024
/**
 * The notices of one commit are also published, dispatched and recorded together. With one commit per notice, a notice in a steady
 * stream takes several times as much work as one in a burst.
 */
const PACE_MS = 10

/**
 * Writes recordings and their events. Concurrent items share one statement and one commit, and each caller gets an answer when its own
 * item is durable. Accounts take turns for the places in a statement.
 */
export class RecordingWriter {
  readonly #turns = new KeyTurns()
  readonly #small: Batches<RecordingChange, WriteOutcome>
  readonly #large: Batches<RecordingChange, WriteOutcome>
  readonly #waiting: Batches<RecordingChange, WriteOutcome>

  constructor(db: Queryable) {
    const write = { shareOf: ({ accountId }: RecordingChange) => accountId }
    const send = (changes: readonly RecordingChange[]) => writeRecordings(db, changes, { waitForTurn: false })
    this.#small = new Batches({
      ...write,
      send,
      underWay: 1,
      paceMs: PACE_MS,
      bytesOf: sizeOf,
      maxBytes: BATCH_BYTES,
    })
    this.#large = new Batches({ ...write, send, underWay: 2, maxItems: 1, slowMs: Infinity })
    this.#waiting = new Batches({
      ...write,
      send: (changes) => writeRecordings(db, changes, { waitForTurn: true }),
      // Each of these may wait for another process for a long time, so they must not take all connections.
      underWay: 2,
      maxItems: 1,
      slowMs: Infinity,
    })
  }

  /** Changes of one recording, or with one key, are written in the order in which they arrived, regardless of size. */
  write(change: RecordingChange): Promise<FinalOutcome> {
    return this.#turns.run(keysOf(change), () => this.#write(change))
  }

  async #write(change: RecordingChange): Promise<FinalOutcome> {
    const batches = sizeOf(change) > LARGE_BYTES ? this.#large : this.#small
    for (let outcome = await batches.add(change); ; outcome = await this.#waiting.add(change)) {
      if (outcome.kind !== 'busy') return outcome
    }
  }
}

const sizeOf = ({ parts, event }: RecordingChange): number =>
  bytesOf(parts).reduce((sum, { byteLength }) => sum + byteLength, event?.body?.byteLength ?? 0)

/** Two changes in progress must not share the recording or the key of their events. */
const keysOf = ({ accountId, audioId, event }: RecordingChange): string[] => [
  `recording ${accountId} ${audioId}`,
  ...(event ? [`event ${event.source} ${event.sourceEventKey}`] : []),
]
