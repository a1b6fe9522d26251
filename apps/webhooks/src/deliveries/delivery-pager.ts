import type { Queryable } from '@signet/db'
import { LRUCache } from 'lru-cache'
import type { Delivery, LogKey as Key, LogOwner } from './delivery-row.js'
import { countNewer, findLogPage, findNewestSettled, findPlaceBehind } from './log-page-store.js'

/** A known position. `rank` is the number of rows between the first mark and this one. */
type Mark = Key & { rank: number }
type Marks = {
  /** By ascending rank. The first has rank 0. */
  list: Mark[]
  /** Set once the oldest row has been seen: no row has this rank or a higher one. */
  endRank: number
}

/** Rows between two marks, which is the most index entries that one page has to skip. */
const STRIDE = 5000
const MAX_ENDPOINTS = 500

/**
 * Pages of an endpoint's delivery log, newest first. Callers use page numbers; internally, each page is read from the nearest mark.
 * There is a mark every 5,000 rows, so every page takes the same time, no matter how long the log is. Only the first jump to a far page
 * walks the index once, in short statements, and leaves marks for the next one.
 */
export class DeliveryPager {
  readonly #db: Queryable
  readonly #marks = new LRUCache<string, { marks: Marks; turn: Promise<unknown> }>({ max: MAX_ENDPOINTS })
  readonly #stride: number

  constructor(db: Queryable, { stride = STRIDE }: { stride?: number } = {}) {
    this.#db = db
    this.#stride = stride
  }

  /** Page 1 has the newest deliveries. Pages beyond the end are empty, and so is the log of another account's endpoint. */
  async page(owner: LogOwner, { page, pageSize }: { page: number; pageSize: number }): Promise<Delivery[]> {
    const offset = (page - 1) * pageSize
    const place =
      offset <= this.#stride
        ? { mark: null, skip: offset }
        : await this.#inTurn(owner, (marks) => this.#locate(owner, marks, offset))
    return place ? findLogPage(this.#db, owner, place.mark, { skip: place.skip, limit: pageSize }) : []
  }

  /** Runs `work` on an endpoint's marks, one caller at a time, so that a long log is walked only once. */
  #inTurn<T>({ accountId, endpointId }: LogOwner, work: (marks: Marks) => Promise<T>): Promise<T> {
    // Another account finds nothing of the endpoint. That result must not become a mark for the owner.
    const key = `${accountId} ${endpointId}`
    const entry = this.#marks.get(key) ?? {
      marks: { list: [], endRank: Infinity },
      turn: Promise.resolve(),
    }
    const result = entry.turn.then(() => work(entry.marks))
    entry.turn = result.catch(() => undefined)
    this.#marks.set(key, entry)
    return result
  }

  /** Finds the row at `offset` as a number of rows after a mark, or after the newest row. Null beyond the end. */
  async #locate(
    owner: LogOwner,
    marks: Marks,
    offset: number,
  ): Promise<{ mark: Key | null; skip: number } | null> {
    const newer = await this.#countAbove(owner, marks)
    if (offset < newer) return { mark: null, skip: offset }
    const rank = offset - newer
    const mark = await this.#walkTo(owner, marks, rank)
    return mark && { mark, skip: rank - mark.rank }
  }

  /** Returns the last mark at or before `rank`, and creates it if necessary. Null if the log ends before it. */
  async #walkTo(owner: LogOwner, marks: Marks, rank: number): Promise<Mark | null> {
    let mark = marks.list.findLast((candidate) => candidate.rank <= rank)
    while (mark && rank < marks.endRank && rank - mark.rank >= this.#stride) {
      const key = await findPlaceBehind(this.#db, owner, mark, this.#stride)
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
   * Counts the rows newer than the first mark, and adds a new first mark once they fill a stride. If there is no mark yet, because no
   * row is old enough, all rows are newer.
   */
  async #countAbove(owner: LogOwner, marks: Marks): Promise<number> {
    const [first] = marks.list
    const newer = first ? await countNewer(this.#db, owner, first) : Infinity
    if (newer < this.#stride) return newer
    const top = await findNewestSettled(this.#db, owner)
    if (top === null) return newer
    const shift = first ? await countNewer(this.#db, owner, first, top) : 0
    if (first && shift === 0) return newer
    marks.list = [{ ...top, rank: 0 }, ...marks.list.map((mark) => ({ ...mark, rank: mark.rank + shift }))]
    marks.endRank += shift
    return countNewer(this.#db, owner, top)
  }
}
