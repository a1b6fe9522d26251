import type { EventId } from '@signet/webhook-core'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'

/**
 * An event whose deliveries are being attempted before they have rows: the first result writes the row of each, and the last
 * of them makes the event dispatched. If this process dies, the event is still queued and its job runs again elsewhere
 * (decision 0255).
 */
export class UnwrittenEvent {
  #withoutRow: number
  #written: Promise<void> | undefined
  #isWritten = false
  #isDispatched = false

  constructor(
    readonly id: EventId,
    private readonly deliveries: readonly DeliverySnapshot[],
    private readonly store: (deliveries: readonly DeliverySnapshot[]) => Promise<void>,
  ) {
    this.#withoutRow = deliveries.length
  }

  /** True once all deliveries are known to have rows, as pending ones at least. */
  get isWritten(): boolean {
    return this.#isWritten
  }

  /** True once `write` was called. */
  get isBeingWritten(): boolean {
    return this.#written !== undefined
  }

  /** True if no delivery would be left without a row after the results of `count` of them. */
  isCompletedBy(count: number): boolean {
    return count >= this.#withoutRow
  }

  /** True once a statement has made the event dispatched. */
  get isDispatched(): boolean {
    return this.#isDispatched
  }

  /** `count` deliveries got their row with a result. `isComplete`: the statement knew them to be the last. */
  wrote(count: number, isComplete: boolean): void {
    this.#withoutRow -= count
    this.#isDispatched ||= isComplete
  }

  /**
   * Writes the missing rows as pending and makes the event dispatched, so that owners and other processes find deliveries that take
   * longer.
   */
  write(): Promise<void> {
    this.#written ??= this.store(this.deliveries).then(() => {
      this.#isWritten = true
      this.#isDispatched = true
    })
    return this.#written
  }
}
