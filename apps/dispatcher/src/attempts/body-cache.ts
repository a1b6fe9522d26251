import { LRUCache } from 'lru-cache'
import { AccountBudget } from '../fairness/account-budget.js'

/** The body of an event, its size if it has more than `maxBytes`, or null if it was purged. */
export type LoadBody = (eventId: string, maxBytes: number) => Promise<Buffer | { bytes: number } | null>

/** A body lent to one attempt, which releases it after sending it. */
export type LentBody = { readonly body: Buffer; release(): void }

type Loan = { body: Promise<Buffer | null>; users: number; giveBack: () => void }

export type BodyCacheOptions = {
  maxBytes: number
  load: LoadBody
  seen?: (result: 'hit' | 'miss') => void
  /** Maximum bytes of all large bodies that attempts use. */
  largeBytes?: number
}

/**
 * Bodies from this size on count toward a limit while attempts use them, cached or not: one for each permit would not fit into
 * memory.
 */
const LARGE_BODY_BYTES = 1024 * 1024
const MAX_LARGE_BYTES = 64 * 1024 * 1024

/**
 * LRU cache of the frozen bodies of events that are being delivered, by event id, limited in bytes. All endpoints of an account and all
 * retries send the same bytes, and reading 1 MiB from PostgreSQL for each attempt costs more than sending it. Nothing is ever
 * invalidated: a frozen body does not change, and whether it may still be sent is read from the delivery's row each time.
 */
export class BodyCache {
  readonly #bodies: LRUCache<string, Buffer>
  readonly #loans = new Map<string, Loan>()
  /** Bodies that are too large for the cache, until their first attempts have ended. */
  readonly #fresh = new Map<string, Buffer>()
  readonly #maxBytes: number
  readonly #load: LoadBody
  readonly #seen: (result: 'hit' | 'miss') => void
  readonly #large: AccountBudget

  constructor({ maxBytes, load, seen = () => undefined, largeBytes = MAX_LARGE_BYTES }: BodyCacheOptions) {
    this.#maxBytes = maxBytes
    this.#load = load
    this.#seen = seen
    this.#large = new AccountBudget({ size: largeBytes, timesFree: 1 })
    // Here a limit of 0 turns the cache off; the library does not accept 0.
    this.#bodies = new LRUCache({
      maxSize: Math.max(maxBytes, 1),
      sizeCalculation: ({ byteLength }) => Math.max(byteLength, 1),
    })
  }

  get bytes(): number {
    return this.#bodies.calculatedSize
  }

  /** The body of an event, or null if it was purged. Simultaneous callers share one. A large one waits until there is room for it. */
  async borrow(eventId: string, accountId: string): Promise<LentBody | null> {
    const known = this.#bodies.get(eventId) ?? this.#fresh.get(eventId)
    this.#seen(known ? 'hit' : 'miss')
    if (known && known.byteLength <= LARGE_BODY_BYTES) return { body: known, release: () => undefined }
    const loan = this.#loans.get(eventId) ?? this.#lend(eventId, accountId, known)
    loan.users += 1
    let isReleased = false
    const release = () => {
      if (isReleased) return
      isReleased = true
      loan.users -= 1
      if (loan.users > 0) return
      this.#loans.delete(eventId)
      loan.giveBack()
    }
    const body = await loan.body.catch((error: unknown) => {
      release()
      throw error
    })
    if (body !== null) return { body, release }
    release()
    return null
  }

  /** Drops a body that will not be needed soon, because all its deliveries have ended. */
  drop(eventId: string): void {
    this.#bodies.delete(eventId)
  }

  /** Adds a body that was just read or frozen. It stays at least until {@link firstAttemptsEnded}, for its first attempts here. */
  putFresh(eventId: string, body: Buffer): void {
    if (!this.#put(eventId, body)) this.#fresh.set(eventId, body)
  }

  firstAttemptsEnded(eventId: string): void {
    this.#fresh.delete(eventId)
  }

  #put(eventId: string, body: Buffer): boolean {
    // One huge body must not evict everything else.
    if (body.byteLength > this.#maxBytes / 4) return false
    if (!this.#bodies.has(eventId)) this.#bodies.set(eventId, body)
    return true
  }

  #lend(eventId: string, accountId: string, known: Buffer | undefined): Loan {
    const loan: Loan = { body: Promise.resolve(null), users: 0, giveBack: () => undefined }
    loan.body = this.#read(eventId, accountId, known, loan)
    this.#loans.set(eventId, loan)
    return loan
  }

  async #read(
    eventId: string,
    accountId: string,
    known: Buffer | undefined,
    loan: Loan,
  ): Promise<Buffer | null> {
    const found = known ?? (await this.#load(eventId, LARGE_BODY_BYTES))
    const isSmall = Buffer.isBuffer(found) && found !== known
    if (found === null || isSmall) return this.#kept(eventId, found)
    const size = Buffer.isBuffer(found) ? found.byteLength : found.bytes
    const holding = await this.#large.acquire(accountId, () => size)
    loan.giveBack = holding.release
    return this.#kept(eventId, known ?? (await this.#load(eventId, Infinity)))
  }

  #kept(eventId: string, body: Buffer | { bytes: number } | null): Buffer | null {
    if (!Buffer.isBuffer(body)) return null
    this.#put(eventId, body)
    return body
  }
}
