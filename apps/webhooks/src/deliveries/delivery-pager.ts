import type { Queryable } from '@signet/db'
import type { DeliveryId, EndpointId } from '@signet/webhook-core'
import { LRUCache } from 'lru-cache'
import {
  DELIVERY_COLUMNS,
  LOG_ORDER,
  toDelivery,
  type Delivery,
  type DeliveryRow,
  type LogKey as Key,
  type LogOwner,
} from './delivery-row.js'

/** A known position: `rank` rows lie between the first mark and this one. */
type Mark = Key & { rank: number }
type Marks = {
  /** By ascending rank. The first has rank 0. */
  list: Mark[]
  /** Set once the oldest row was seen: no row has this rank or a higher one. */
  endRank: number
}

/** Rows between two marks: the most index entries that one page has to skip. */
const STRIDE = 5000
/** No transaction can still commit rows this old, so their rank is final. */
const SETTLED = '1 minute'
const MAX_ENDPOINTS = 500

/**
 * Pages of an endpoint's delivery log, newest first. Callers use page numbers; internally each page is read from the nearest
 * mark. Marks are kept every 5,000 rows, so every page of a log of any length costs the same. Only the first jump to a far page
 * walks the index once, in short statements, and leaves marks for the next one.
 */
export class DeliveryPager {
  readonly #db: Queryable
  readonly #marks = new LRUCache<EndpointId, { marks: Marks; turn: Promise<unknown> }>({ max: MAX_ENDPOINTS })
  readonly #stride: number

  constructor(db: Queryable, { stride = STRIDE }: { stride?: number } = {}) {
    this.#db = db
    this.#stride = stride
  }

  /** Page 1 has the newest deliveries. Pages beyond the end are empty, and so is the log of another account's endpoint. */
  async page(
    { accountId, endpointId }: LogOwner,
    { page, pageSize }: { page: number; pageSize: number },
  ): Promise<Delivery[]> {
    const offset = (page - 1) * pageSize
    const place =
      offset <= this.#stride
        ? { mark: null, skip: offset }
        : await this.#inTurn(endpointId, (marks) => this.#locate(endpointId, marks, offset))
    return place ? this.#read({ accountId, endpointId }, place.mark, place.skip, pageSize) : []
  }

  /** Runs `work` on an endpoint's marks, one caller at a time, so that a long log is walked only once. */
  #inTurn<T>(endpointId: EndpointId, work: (marks: Marks) => Promise<T>): Promise<T> {
    const entry = this.#marks.get(endpointId) ?? {
      marks: { list: [], endRank: Infinity },
      turn: Promise.resolve(),
    }
    const result = entry.turn.then(() => work(entry.marks))
    entry.turn = result.catch(() => undefined)
    this.#marks.set(endpointId, entry)
    return result
  }

  /** Finds the row at `offset` as a number of rows after a mark, or after the newest row. Null beyond the end. */
  async #locate(
    endpointId: EndpointId,
    marks: Marks,
    offset: number,
  ): Promise<{ mark: Key | null; skip: number } | null> {
    const newer = await this.#countAbove(endpointId, marks)
    if (offset < newer) return { mark: null, skip: offset }
    const rank = offset - newer
    const mark = await this.#walkTo(endpointId, marks, rank)
    return mark && { mark, skip: rank - mark.rank }
  }

  /** The last mark at or before `rank`, created if missing; null if the log ends before it. */
  async #walkTo(endpointId: EndpointId, marks: Marks, rank: number): Promise<Mark | null> {
    let mark = marks.list.findLast((candidate) => candidate.rank <= rank)
    while (mark && rank < marks.endRank && rank - mark.rank >= this.#stride) {
      const key = await this.#keyAfter(endpointId, mark, this.#stride)
      if (key === null) {
        marks.endRank = mark.rank + this.#stride
        break
      }
      mark = { ...key, rank: mark.rank + this.#stride }
      const next = marks.list.findIndex((other) => other.rank > rank)
      marks.list.splice(next === -1 ? marks.list.length : next, 0, mark)
    }
    return mark && rank < marks.endRank ? mark : null
  }

  /**
   * Counts the rows newer than the first mark. Once there is a stride of them, adds a new first mark. Without any mark, because
   * no row is old enough, all rows are newer.
   */
  async #countAbove(endpointId: EndpointId, marks: Marks): Promise<number> {
    const [first] = marks.list
    const newer = first ? await this.#countNewer(endpointId, first) : Infinity
    if (newer < this.#stride) return newer
    const top = await this.#newestSettled(endpointId)
    if (top === null) return newer
    const shift = first ? await this.#countBetween(endpointId, first, top) : 0
    if (first && shift === 0) return newer
    marks.list = [{ ...top, rank: 0 }, ...marks.list.map((mark) => ({ ...mark, rank: mark.rank + shift }))]
    marks.endRank += shift
    return this.#countNewer(endpointId, top)
  }

  async #newestSettled(endpointId: EndpointId): Promise<Key | null> {
    const { rows } = await this.#db.query<{ created: string; id: DeliveryId }>(
      `select created_at::text as created, id from webhook_deliveries
       where endpoint_id = $1 and created_at < now() - interval '${SETTLED}'
       order by ${LOG_ORDER} limit 1`,
      [endpointId],
    )
    return toKey(rows[0])
  }

  async #keyAfter(endpointId: EndpointId, from: Key, distance: number): Promise<Key | null> {
    const { rows } = await this.#db.query<{ created: string; id: DeliveryId }>(
      // Converted to text outside, or it would be converted for every skipped row.
      `select created_at::text as created, id from (
         select created_at, id from webhook_deliveries
         where endpoint_id = $1 and (created_at, id) < ($2, $3)
         order by ${LOG_ORDER} offset $4 limit 1
       ) as mark`,
      [endpointId, from.createdAt, from.id, distance - 1],
    )
    return toKey(rows[0])
  }

  async #countNewer(endpointId: EndpointId, than: Key): Promise<number> {
    const { rows } = await this.#db.query<{ count: number }>(
      `select count(*)::integer as count from webhook_deliveries
       where endpoint_id = $1 and (created_at, id) > ($2, $3)`,
      [endpointId, than.createdAt, than.id],
    )
    return rows[0]?.count ?? 0
  }

  async #countBetween(endpointId: EndpointId, older: Key, newest: Key): Promise<number> {
    const { rows } = await this.#db.query<{ count: number }>(
      `select count(*)::integer as count from webhook_deliveries
       where endpoint_id = $1 and (created_at, id) > ($2, $3) and (created_at, id) <= ($4, $5)`,
      [endpointId, older.createdAt, older.id, newest.createdAt, newest.id],
    )
    return rows[0]?.count ?? 0
  }

  /** Skips rows in the index and fetches only those of the page. `from` itself is at offset 0. */
  async #read(
    { accountId, endpointId }: LogOwner,
    from: Key | null,
    offset: number,
    limit: number,
  ): Promise<Delivery[]> {
    const { rows } = await this.#db.query<DeliveryRow>(
      `with page as materialized (
         select id from webhook_deliveries
         where endpoint_id = (select id from webhook_endpoints where id = $1 and account_id = $6)
           and (created_at, id) <= ($2, $3)
         order by ${LOG_ORDER} offset $4 limit $5
       )
       select ${DELIVERY_COLUMNS}
       from webhook_deliveries where id = any (array(select id from page))
       order by ${LOG_ORDER}`,
      [
        endpointId,
        from?.createdAt ?? 'infinity',
        from?.id ?? '9223372036854775807',
        offset,
        limit,
        accountId,
      ],
    )
    return rows.map(toDelivery)
  }
}

const toKey = (row: { created: string; id: DeliveryId } | undefined): Key | null =>
  row ? { createdAt: row.created, id: row.id } : null
