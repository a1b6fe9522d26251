import type { Queryable } from '@signet/db'
import type { DeliveryId, SecretBox } from '@signet/webhook-core'
import { notFound } from '../errors/api-errors.js'
import { findAttempts, findDelivery, findPayload, type Payload } from './attempt-log-store.js'
import { DeliveryCursors } from './delivery-cursor.js'
import { DeliveryPager } from './delivery-pager.js'
import type { Delivery, DeliveryDetail, DeliveryFilter, LogOwner } from './delivery-row.js'
import { findDeliveries } from './delivery-store.js'

/** `nextCursor` is empty at the end. */
export type LogPage = { items: Delivery[]; nextCursor: string }

/** The delivery log of an endpoint, by page numbers or by cursors (docs/specification.md#delivery-log). */
export class DeliveryLog {
  readonly #pager: DeliveryPager
  readonly #cursors: DeliveryCursors

  constructor(
    private readonly db: Queryable,
    secretBox: Pick<SecretBox, 'derive'>,
  ) {
    this.#pager = new DeliveryPager(db)
    this.#cursors = new DeliveryCursors(secretBox)
  }

  /** Returns a delivery with its attempts. Throws `not_found`. */
  async detail(owner: LogOwner, id: DeliveryId): Promise<DeliveryDetail> {
    const found = await findDelivery(this.db, owner, id)
    if (!found) throw notFound()
    return { ...found, attempts: await findAttempts(this.db, owner, id) }
  }

  /** Returns the beginning of the body of a delivery's requests. Null if there is none yet, or if its recording was deleted. */
  payload(owner: LogOwner, id: DeliveryId, maxLength: number): Promise<Payload | null> {
    return findPayload(this.db, owner, { id, maxLength })
  }

  async page(owner: LogOwner, place: { page: number; pageSize: number }): Promise<LogPage> {
    const items = await this.#pager.page(owner, place)
    const last = items.length === place.pageSize ? items.at(-1) : undefined
    return { items, nextCursor: last ? this.#cursors.write(owner, {}, last.key) : '' }
  }

  /** Returns deliveries from the newest on, or from the position after a cursor. */
  async after(
    owner: LogOwner,
    filter: DeliveryFilter,
    { cursor, limit }: { cursor: string | undefined; limit: number },
  ): Promise<LogPage> {
    const after = cursor === undefined ? null : this.#cursors.read(owner, filter, cursor)
    const { items, next } = await findDeliveries(this.db, owner, filter, { after, limit })
    return { items, nextCursor: next ? this.#cursors.write(owner, filter, next) : '' }
  }
}
