import type { Delivery, DeliveryDetail, DeliveryQuery } from '../api/types.js'
import { RefusedError } from '../errors.js'
import { PENDING } from '../webhooks/webhook-view.js'

export type Source = {
  /** The filters of the user, and how many deliveries the first poll shows. */
  query: DeliveryQuery
  list: (query: DeliveryQuery) => Promise<{ items: readonly Delivery[]; next_cursor: string }>
  get: (id: string) => Promise<DeliveryDetail>
}

type Known = { state: string; createdAt: number; isOpen: boolean; polledAt: number }
type ReadBack = { found: Delivery[]; pages: number; end: number; isCut: boolean }

/** A delivery appears in the log when it is committed, which may be after newer ones. Each poll looks back this far. */
const LATE_MS = 60_000
/** Maximum requests of one poll. With 30 polls a minute, this is half of what an account may make. */
const MAX_REQUESTS = 10

/**
 * Polls a delivery log for deliveries that are new or have changed. The first poll reads one page. Each later one reads back to a minute
 * before the newest known delivery. Older deliveries that may still change are requested one by one, because reading all pages back to
 * the oldest of them would take more requests than an account may make.
 */
export class DeliveryFeed {
  readonly #known = new Map<string, Known>()
  #polls = 0
  #newest = -Infinity
  /** An unknown delivery from before this time is not new: it existed before the first poll, or was forgotten since. */
  #floor = -Infinity

  constructor(private readonly source: Source) {}

  /** Returns new and changed deliveries, newest first. `isCut` means that there were more new ones. */
  async next(): Promise<{ news: Delivery[]; isCut: boolean }> {
    const isFirst = this.#polls === 0
    const { found, isCut } = isFirst ? await this.#first() : await this.#later()
    this.#polls += 1
    return { news: found.filter((delivery) => this.#isNews(delivery)), isCut }
  }

  async #first(): Promise<{ found: readonly Delivery[]; isCut: boolean }> {
    const { items, next_cursor } = await this.source.list(this.source.query)
    const last = items.at(-1)
    if (next_cursor !== '' && last) this.#floor = createdAt(last)
    return { found: items, isCut: false }
  }

  async #later(): Promise<{ found: readonly Delivery[]; isCut: boolean }> {
    const newest = this.#newest
    const until = newest - LATE_MS
    const read = await this.#readBack(until)
    const seen = new Set(read.found.map(({ id }) => id))
    const unseen = [...this.#known].filter(([id]) => !seen.has(id))
    const behind = unseen.filter(([, { isOpen, createdAt }]) => isOpen && createdAt <= read.end)
    // The least recently requested ones come first, so that all get a turn.
    behind.sort(([, a], [, b]) => a.polledAt - b.polledAt || a.createdAt - b.createdAt)
    const refreshed: Delivery[] = []
    for (const [id, known] of behind.slice(0, Math.max(1, MAX_REQUESTS - read.pages))) {
      known.polledAt = this.#polls
      const fresh = await this.#refresh(id)
      if (fresh) refreshed.push(fresh)
      else this.#known.delete(id)
    }
    for (const [id, { isOpen, createdAt }] of unseen)
      this.#forget(id, { isOpen, createdAt, until, end: read.end })
    refreshed.sort((a, b) => createdAt(b) - createdAt(a))
    return { found: [...read.found, ...refreshed], isCut: read.isCut && read.end > newest }
  }

  async #readBack(until: number): Promise<ReadBack> {
    const found: Delivery[] = []
    let cursor = ''
    for (let pages = 1; ; pages += 1) {
      const { items, next_cursor } = await this.source.list({
        ...this.source.query,
        page_size: '100',
        ...(cursor === '' ? {} : { cursor }),
      })
      found.push(...items)
      const last = items.at(-1)
      if (next_cursor === '' || last === undefined) return { found, pages, end: -Infinity, isCut: false }
      const end = createdAt(last)
      if (end < until || pages === MAX_REQUESTS) return { found, pages, end, isCut: end >= until }
      cursor = next_cursor
    }
  }

  /** Returns the delivery as lists show it, or undefined if it was deleted or no longer passes the filters. */
  async #refresh(id: string): Promise<Delivery | undefined> {
    const { status } = this.source.query
    try {
      const { attempt_log: _, next_attempt_at: __, ...delivery } = await this.source.get(id)
      return status === undefined || status === String(delivery.status) ? delivery : undefined
    } catch (error) {
      if (error instanceof RefusedError && error.code === 'not_found') return undefined
      throw error
    }
  }

  /**
   * Forgets a delivery that the pages should have contained: it was deleted or no longer passes a filter. Also forgets finished
   * deliveries that are too old for the next poll to read, because they no longer change.
   */
  #forget(
    id: string,
    { isOpen, createdAt, until, end }: Omit<Known, 'state' | 'polledAt'> & { until: number; end: number },
  ) {
    if (isOpen ? createdAt <= end : createdAt >= until) return
    this.#known.delete(id)
    if (!isOpen) this.#floor = Math.max(this.#floor, createdAt)
  }

  #isNews(delivery: Delivery): boolean {
    const { id, status, attempts, last_error } = delivery
    const known = this.#known.get(id)
    if (!known && createdAt(delivery) <= this.#floor && this.#polls > 1) return false
    const state = `${status} ${attempts} ${last_error}`
    const isOpen = status === PENDING
    this.#newest = Math.max(this.#newest, createdAt(delivery))
    this.#known.set(id, { state, createdAt: createdAt(delivery), isOpen, polledAt: this.#polls })
    return known?.state !== state
  }
}

const createdAt = ({ created_at }: Delivery): number => Date.parse(created_at)
