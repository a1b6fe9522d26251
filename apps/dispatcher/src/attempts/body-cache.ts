import { LRUCache } from 'lru-cache'

/**
 * LRU cache of the frozen bodies of events that are being delivered, by event id, limited in bytes. All endpoints of an account and all retries send the same bytes,
 * and reading 1 MiB from PostgreSQL for each attempt costs more than sending it. Nothing is ever invalidated: a frozen body
 * does not change, and whether it may still be sent is read from the delivery's row each time.
 */
export class BodyCache {
  readonly #bodies: LRUCache<string, Buffer>
  readonly #loading = new Map<string, Promise<Buffer | null>>()

  constructor(
    private readonly maxBytes: number,
    private readonly load: (eventId: string) => Promise<Buffer | null>,
    private readonly seen: (result: 'hit' | 'miss') => void = () => undefined,
  ) {
    // Here a limit of 0 turns the cache off; the library does not accept 0.
    this.#bodies = new LRUCache({
      maxSize: Math.max(maxBytes, 1),
      sizeCalculation: ({ byteLength }) => Math.max(byteLength, 1),
    })
  }

  get bytes(): number {
    return this.#bodies.calculatedSize
  }

  /** The body of an event, or null if it was purged. Concurrent callers share one read. */
  async get(eventId: string): Promise<Buffer | null> {
    const known = this.#bodies.get(eventId)
    this.seen(known ? 'hit' : 'miss')
    if (known) return known
    const underWay = this.#loading.get(eventId)
    if (underWay) return underWay
    const read = this.load(eventId)
      .then((body) => {
        if (body) this.put(eventId, body)
        return body
      })
      .finally(() => this.#loading.delete(eventId))
    this.#loading.set(eventId, read)
    return read
  }

  /** Nobody will ask for it soon: all its deliveries have ended. */
  drop(eventId: string): void {
    this.#bodies.delete(eventId)
  }

  /** Adds a body that was just frozen: its first attempt follows in a moment, in this process. */
  put(eventId: string, body: Buffer): void {
    // One huge body must not evict everything else.
    if (body.byteLength <= this.maxBytes / 4 && !this.#bodies.has(eventId)) this.#bodies.set(eventId, body)
  }
}
