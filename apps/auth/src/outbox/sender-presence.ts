import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '@signet/db'
import type { Observer } from '../observers/observer.js'
import type { OutboxStore } from './outbox-store.js'

export type PresenceDeps = {
  /** The one connection that shows that this sender is alive. */
  presenceDb: Pick<Db, 'transaction'>
  db: Db
  store: OutboxStore
  observer: Pick<Observer, 'outboxUnreachable'>
  now: () => Date
}

const RENEW_MS = 500
const RETRY_MS = 1000
/** How long a sender that lost its connection has to come back. */
const ABSENCE_MS = 2000

/**
 * Notices when a sender has died, so that its messages do not wait until their claims expire (decision 0127). A living sender holds an
 * advisory lock in a transaction of its own. If nobody has held that lock for two seconds, other senders take over its messages. A sender
 * that could not get the lock keeps its claims for their full time.
 */
export class SenderPresence {
  readonly #key = String(randomInt(1, 2 ** 48 - 1))
  #absentSince: ReadonlyMap<string, number> = new Map()
  #isShown = false

  /** `silentMs`: how long a silent sender, which may be frozen or cut off, may still be sending. */
  constructor(
    private readonly deps: PresenceDeps,
    private readonly silentMs: number,
  ) {}

  /** The key that marks new claims. */
  get key(): string | null {
    return this.#isShown ? this.#key : null
  }

  start(): () => Promise<void> {
    const stop = new AbortController()
    const shown = this.#show(stop.signal)
    return () => {
      stop.abort()
      return shown
    }
  }

  /** Ends the claims of senders that are gone. */
  async releaseAbandoned(): Promise<void> {
    const { db, store, now } = this.deps
    const at = now()
    const absent = await store.absentSenders(db, this.#key, at)
    const known = this.#absentSince
    this.#absentSince = new Map(absent.map((sender) => [sender, known.get(sender) ?? at.getTime()]))
    for (const [sender, since] of this.#absentSince)
      if (at.getTime() - since >= ABSENCE_MS) await store.release(db, sender, at)
  }

  async #show(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      try {
        await this.deps.presenceDb.transaction(async (tx) => {
          while (!stopping.aborted) {
            await this.deps.store.showSender(tx, this.#key, this.silentMs)
            this.#isShown = true
            await pause(RENEW_MS, stopping)
          }
        })
      } catch (error) {
        this.deps.observer.outboxUnreachable('all', error)
        // Replace a lost connection at once, but pause if connecting failed.
        if (!this.#isShown) await pause(RETRY_MS, stopping)
      }
      this.#isShown = false
    }
  }
}

const pause = (ms: number, stopping: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal: stopping, ref: false }).catch(() => undefined)
