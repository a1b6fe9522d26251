import { setTimeout as sleep } from 'node:timers/promises'
import type { Observer } from '../observers/observer.js'
import type { KeyRing } from './key-ring.js'
import type { SigningKeyService } from './signing-key-service.js'
import { signerOf, stateOf } from './signing-key.js'

type Deps = {
  /** The keys from the settings. */
  configured: KeyRing
  service: SigningKeyService
  /** AUTH_JWT_KEYS_REFRESH_INTERVAL. */
  intervalMs: number
  observer: Observer
  now: () => Date
  /** Monotonic milliseconds, for the age of the copy. */
  monotonicMs?: () => number
}

/** Minimum time between two reads caused by tokens with unknown keys. */
const UNKNOWN_KEY_PAUSE_MS = 1000

/**
 * A copy of the table of keys. When it is used after the refresh interval, a new read starts in the background. When it is twice as old,
 * the caller waits for that read. So a process that was idle never signs with a key that others have dropped (decision 0137).
 */
export class LiveKeys {
  #ring: KeyRing | undefined
  #shape = ''
  #readAt = -Infinity
  #failedAt = -Infinity
  #reading: Promise<KeyRing> | undefined

  constructor(private readonly deps: Deps) {}

  /** Never older than twice the interval; fails while the database is down. */
  async forSigning(): Promise<KeyRing> {
    const age = this.#now() - this.#readAt
    if (this.#ring === undefined || age > 2 * this.deps.intervalMs) return this.#read()
    if (age > this.deps.intervalMs) this.#readBeside()
    return this.#ring
  }

  /** For verifying and publishing. Both keep using the last copy while the database is down. */
  async forVerifying(): Promise<KeyRing> {
    const hasJustFailed = this.#now() - this.#failedAt < this.deps.intervalMs
    if (this.#ring !== undefined && hasJustFailed) return this.#ring
    return this.forSigning().catch((error: unknown) => {
      if (this.#ring === undefined) throw error
      return this.#ring
    })
  }

  /**
   * The keys to try next for a token whose key is not in `ring`; the same ring if there are no new ones. Waits for the next read before it
   * gives up, because another replica may have begun to sign with a new key just after the last read.
   */
  async newerThan(ring: KeyRing): Promise<KeyRing> {
    if (this.#ring !== undefined && this.#ring !== ring) return this.#ring
    const askedAt = this.#now()
    const pauseMs = Math.min(UNKNOWN_KEY_PAUSE_MS, this.deps.intervalMs)
    const waitMs = this.#triedAt + pauseMs - askedAt
    if (waitMs > 0) await sleep(waitMs)
    // A concurrent caller has already read the table.
    if (this.#triedAt > askedAt) return this.#ring ?? ring
    return this.#read().catch(() => ring)
  }

  get #triedAt(): number {
    return Math.max(this.#readAt, this.#failedAt)
  }

  readonly #now = (): number => this.deps.monotonicMs?.() ?? performance.now()

  #readBeside(): void {
    if (this.#now() - this.#failedAt >= this.deps.intervalMs) this.#read().catch(() => undefined)
  }

  #read(): Promise<KeyRing> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readOnce(): Promise<KeyRing> {
    const startedAt = this.#now()
    try {
      this.#ring =
        this.deps.service.rules.signsWith === 'configured_keys' ? this.deps.configured : await this.#current()
      this.#readAt = startedAt
      return this.#ring
    } catch (error) {
      this.#failedAt = this.#now()
      this.deps.observer.signingKeysUnavailable(error)
      throw error
    }
  }

  /** The ring for the current table. Stays the same object until something changes. */
  async #current(): Promise<KeyRing> {
    const { configured, service, observer, now } = this.deps
    const { rules } = service
    const usable = await service.ensure()
    const signer = rules.signsWith === 'own_keys' ? signerOf(usable, now()) : undefined
    const published = usable.filter((key) => stateOf(key, now(), rules.delayMs) !== 'expired')
    const kids = published.map(({ kid }) => kid)
    const shape = JSON.stringify([signer?.kid, kids])
    if (this.#ring !== undefined && shape === this.#shape) return this.#ring
    this.#shape = shape
    observer.signingKeysChanged(signer?.kid, kids)
    return configured.withKeys(
      published.map(({ material }) => material),
      signer?.material,
    )
  }
}
