import type { DeliveryId, EventId } from '@signet/webhook-core'
import pTimeout from 'p-timeout'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'

/** How long the writing of rows waits for a statement that records results of their event. Half a second has already passed by then. */
const RECORDING_MS = 500

/** Writes the missing rows of one event. Returns false if it has none, because the event was purged or is gone. */
export type StoreRows = (deliveries: readonly DeliverySnapshot[]) => Promise<boolean>

/**
 * An event whose deliveries are being attempted before they have rows: the first result writes the row of each, and the last
 * of them makes the event dispatched. If this process dies, the event is still queued and its job runs again elsewhere
 * (decision 0255).
 */
export class UnwrittenEvent {
  readonly #withoutRow: Set<DeliveryId>
  #recording: Promise<unknown> = Promise.resolve()
  #written: Promise<void> | undefined
  #isBeingWritten = false
  #isListed = false
  #isWritten = false
  #isDispatched = false

  constructor(
    readonly id: EventId,
    private readonly deliveries: readonly DeliverySnapshot[],
    private readonly store: StoreRows,
  ) {
    this.#withoutRow = new Set(deliveries.map(({ id }) => id))
  }

  /** True once all deliveries are known to have rows, as pending ones at least. */
  get isWritten(): boolean {
    return this.#isWritten
  }

  /** True from when `write` is called until it has ended. */
  get isBeingWritten(): boolean {
    return this.#isBeingWritten
  }

  /** True once a statement that lists the event in `webhook_first_attempts` may have begun. */
  get isListed(): boolean {
    return this.#isListed
  }

  /**
   * True if no delivery would be left without a row after the results of these. It goes by their ids, not by their number: the result of
   * one delivery may be recorded twice.
   */
  isCompletedBy(ids: ReadonlySet<DeliveryId>): boolean {
    return [...this.#withoutRow].every((id) => ids.has(id))
  }

  /** True once a statement has made the event dispatched, or found it purged when it wrote the last row. */
  get isDispatched(): boolean {
    return this.#isDispatched
  }

  /** `statement` records results of the event, and calls `wrote` before it ends. */
  recordedBy(statement: Promise<unknown>): void {
    this.#recording = statement.catch(() => undefined)
  }

  /** These deliveries got their row with a result. `isComplete`: the statement knew them to be the last. */
  wrote(ids: ReadonlySet<DeliveryId>, isComplete: boolean): void {
    for (const id of ids) this.#withoutRow.delete(id)
    this.#isDispatched ||= isComplete
  }

  /**
   * Writes the missing rows as pending and makes the event dispatched, so that owners and other processes find deliveries that take
   * longer. Writes nothing for a purged event, because only an attempt that was made needs a row there: its result writes it.
   */
  write(): Promise<void> {
    this.#written ??= this.#write()
    return this.#written
  }

  /** Waits for a statement that records results: a row that this wrote before it would make it fail, along with the results of others. */
  async #write(): Promise<void> {
    this.#isBeingWritten = true
    try {
      await pTimeout(this.#recording, { milliseconds: RECORDING_MS, fallback: () => undefined })
      if (!this.#isDispatched && (await this.#list())) this.#isDispatched = true
      this.#isWritten = this.#isDispatched
    } finally {
      this.#isBeingWritten = false
    }
  }

  #list(): Promise<boolean> {
    this.#isListed = true
    return this.store(this.deliveries)
  }
}
