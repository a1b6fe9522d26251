import { type Queryable } from '@signet/db'
import { type EventType } from '../event-types.js'
import { type DeliveryId, type EndpointId, type EventId } from '../ids.js'
import { type DeliveryStatus } from './delivery-store.js'

/** One line of the delivery log. */
export type Delivery = {
  id: DeliveryId
  endpointId: EndpointId
  eventId: EventId
  eventType: EventType
  status: DeliveryStatus
  attempts: number
  lastError: string
  deliveredAt: Date | null
  createdAt: Date
}

type DeliveryRow = {
  id: DeliveryId
  endpoint_id: EndpointId
  event_id: EventId
  event_type: EventType
  status: DeliveryStatus
  attempts: number
  last_error: string
  delivered_at: Date | null
  created_at: Date
}

/** A place in an endpoint's log. The time is PostgreSQL's text, with microseconds. */
type Key = { createdAt: string; id: DeliveryId }
/** `rank` rows of the log are newer than this key and not newer than the first mark. */
type Mark = Key & { rank: number }
type Marks = {
  /** By ascending rank; the first has rank 0. */
  list: Mark[]
  /** Once the oldest row was seen: no row has this rank or a higher one. */
  endRank: number
}

const LOG_ORDER = 'created_at desc, id desc'
/** Rows between two marks: what a page costs at most, in index entries. */
const STRIDE = 20_000
/** Rows this old have no neighbours that are still to be committed, so their rank below a mark is final. */
const SETTLED = '1 minute'
const MAX_ENDPOINTS = 500

/**
 * Pages of an endpoint's delivery log, newest first. Callers count pages; inside, each page is read from the nearest of the
 * marks that this object remembers every 20,000 rows, so going through a log of any length costs the same for every page.
 * Only the first jump far down walks the index once, in short statements, and leaves marks for the next one.
 */
export class DeliveryPager {
  readonly #db: Queryable
  readonly #marks = new Map<EndpointId, Promise<Marks>>()
  readonly #stride: number

  constructor(db: Queryable, { stride = STRIDE }: { stride?: number } = {}) {
    this.#db = db
    this.#stride = stride
  }

  /** Page 1 has the newest deliveries; beyond the end there are none. */
  async page(endpointId: EndpointId, page: number, pageSize: number): Promise<Delivery[]> {
    const offset = (page - 1) * pageSize
    if (offset <= this.#stride) return this.#read(endpointId, null, offset, pageSize)
    return this.#deepPage(endpointId, offset, pageSize)
  }

  async #deepPage(endpointId: EndpointId, offset: number, limit: number): Promise<Delivery[]> {
    const marks = await this.#marksOf(endpointId)
    const [newest] = marks.list
    if (newest === undefined) return []
    const rank = offset - (await this.#countNewer(endpointId, newest))
    if (rank < 0) return this.#read(endpointId, null, offset, limit)
    const mark = await this.#walkTo(endpointId, marks, rank)
    return mark ? this.#read(endpointId, mark, rank - mark.rank, limit) : []
  }

  /** The last mark at or above `rank`, made on the way when missing; null when the log ends before. */
  async #walkTo(endpointId: EndpointId, marks: Marks, rank: number): Promise<Mark | null> {
    let mark = marks.list.findLast((candidate) => candidate.rank <= rank)
    while (mark && rank < marks.endRank && rank - mark.rank >= this.#stride) {
      const key = await this.#keyAfter(endpointId, mark, this.#stride)
      if (key === null) {
        marks.endRank = mark.rank + this.#stride
        break
      }
      mark = { ...key, rank: mark.rank + this.#stride }
      remember(marks, mark)
    }
    return mark && rank < marks.endRank ? mark : null
  }

  /** The marks of an endpoint, brought up to date by one caller at a time. */
  #marksOf(endpointId: EndpointId): Promise<Marks> {
    const before = this.#marks.get(endpointId) ?? Promise.resolve({ list: [], endRank: Infinity })
    const marks = before.then((known) => this.#refresh(endpointId, known))
    this.#marks.delete(endpointId) // to the end of the map: the first entry is the one used least recently
    this.#marks.set(endpointId, marks)
    marks.catch(() => this.#marks.delete(endpointId))
    const [oldest] = this.#marks.keys()
    if (this.#marks.size > MAX_ENDPOINTS && oldest) this.#marks.delete(oldest)
    return marks
  }

  /** Puts a new first mark on top once enough settled rows have come in above the old one. */
  async #refresh(endpointId: EndpointId, known: Marks): Promise<Marks> {
    const [first] = known.list
    if (first && (await this.#countNewer(endpointId, first)) < this.#stride) return known
    const top = await this.#newestSettled(endpointId)
    if (top === null) return known
    const shift = first ? await this.#countBetween(endpointId, first, top) : 0
    if (first && shift === 0) return known
    return {
      list: [{ ...top, rank: 0 }, ...known.list.map((mark) => ({ ...mark, rank: mark.rank + shift }))],
      endRank: known.endRank + shift,
    }
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
      `select created_at::text as created, id from webhook_deliveries
       where endpoint_id = $1 and (created_at, id) < ($2, $3)
       order by ${LOG_ORDER} offset $4 limit 1`,
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

  /** Skips in the index alone; only the rows of the page are fetched. `from` itself is the row at offset 0. */
  async #read(endpointId: EndpointId, from: Key | null, offset: number, limit: number): Promise<Delivery[]> {
    const { rows } = await this.#db.query<DeliveryRow>(
      `with page as materialized (
         select id from webhook_deliveries
         where endpoint_id = $1 and (created_at, id) <= ($2, $3)
         order by ${LOG_ORDER} offset $4 limit $5
       )
       select id, endpoint_id, event_id, event_type, status, attempts, last_error, delivered_at, created_at
       from webhook_deliveries where id = any (array(select id from page))
       order by ${LOG_ORDER}`,
      [endpointId, from?.createdAt ?? 'infinity', from?.id ?? '9223372036854775807', offset, limit],
    )
    return rows.map(toDelivery)
  }
}

/** Parallel walkers may bring the same mark twice; it is kept once. */
function remember(marks: Marks, mark: Mark): void {
  const next = marks.list.findIndex(({ rank }) => rank >= mark.rank)
  if (next === -1) marks.list.push(mark)
  else if (marks.list[next]?.rank !== mark.rank) marks.list.splice(next, 0, mark)
}

const toKey = (row: { created: string; id: DeliveryId } | undefined): Key | null =>
  row ? { createdAt: row.created, id: row.id } : null

const toDelivery = (row: DeliveryRow): Delivery => ({
  id: row.id,
  endpointId: row.endpoint_id,
  eventId: row.event_id,
  eventType: row.event_type,
  status: row.status,
  attempts: row.attempts,
  lastError: row.last_error,
  deliveredAt: row.delivered_at,
  createdAt: row.created_at,
})
