import type { Claim, EventStore } from './deduplicate.js'

export type MemoryEventStoreOptions = {
  /** How many processed events are remembered; the oldest are forgotten first. Default 100,000, which takes about 10 MB. */
  maxEvents?: number
  /** The clock; replaced in tests. */
  now?: () => Date
}

type Entry = { owner: string; expiresAt: number }

/** Remembers events in this process, which is enough for a receiver with one process that may repeat work after a restart. */
export class MemoryEventStore implements EventStore {
  readonly #claims = new Map<string, Entry>()
  readonly #done = new Set<string>()
  readonly #maxEvents: number
  readonly #now: () => Date

  constructor({ maxEvents = 100_000, now = () => new Date() }: MemoryEventStoreOptions = {}) {
    if (!(maxEvents >= 1)) throw new RangeError('maxEvents must be a number, one or more')
    this.#maxEvents = maxEvents
    this.#now = now
  }

  claim(eventId: string, owner: string, leaseSeconds: number): Claim {
    if (this.#done.has(eventId)) return 'done'
    const now = this.#now().getTime()
    const held = this.#claims.get(eventId)
    if (held !== undefined && held.expiresAt > now) return 'in_progress'
    this.#claims.set(eventId, { owner, expiresAt: now + leaseSeconds * 1000 })
    return 'claimed'
  }

  complete(eventId: string): void {
    this.#claims.delete(eventId)
    this.#done.add(eventId)
    const [oldest] = this.#done
    if (this.#done.size > this.#maxEvents && oldest !== undefined) this.#done.delete(oldest)
  }

  release(eventId: string, owner: string): void {
    if (this.#claims.get(eventId)?.owner === owner) this.#claims.delete(eventId)
  }
}
