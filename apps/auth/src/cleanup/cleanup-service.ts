import { isUnavailable, withAdvisoryLock, type DatabaseClock, type Db } from '@signet/db'
import { Periodic } from '@signet/periodic'
import type { StopSignal } from '../account/account-deletion-service.js'
import type { Observer } from '../observers/observer.js'
import type { CleanupRule, CleanupStore } from './cleanup-store.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const PAUSE_MS = 60_000

/** Signed up or invited, and never confirmed; users made by an administrator were sent no message. */
const NEVER_CONFIRMED =
  'confirmed_at is null and last_sign_in_at is null and deleted_at is null and confirmation_sent_at < $1'

type Deps = {
  db: Db
  store: CleanupStore
  observer: Observer
  deletions: { finish(stop: StopSignal, failed: (error: Error) => void): Promise<number> }
  rules: {
    /** Tables of one namespace are cleaned by one process at a time. */
    lockName: string
    /** Longer than access tokens live: deleting a session invalidates its access tokens. */
    endedSessionMs: number
    anonymousUsers: boolean
    /** Wrong passwords are forgotten after this long. */
    guessesMs: number
    /** How long a network is remembered after the last sign-in from it. */
    knownNetworkMs: number
    /** The longest gap between two messages. */
    intervalMs: number
    /** Undefined keeps them forever. */
    auditMs: number | undefined
    unconfirmedUserMs: number | undefined
  }
  databaseNow: DatabaseClock
}

/** Deletes rows that are no longer needed (docs/specification.md#data-at-rest). */
export class CleanupService {
  constructor(private readonly deps: Deps) {}

  /**
   * One run over all tables; does nothing while another process is cleaning up. What cannot be deleted is reported, and does not
   * hold up the rest.
   */
  async run(stop: StopSignal = { aborted: false }): Promise<void> {
    const { db, rules, deletions, observer } = this.deps
    await withAdvisoryLock(db, rules.lockName, async () => {
      observer.cleanedUp('users', await deletions.finish(stop, (error) => observer.cleanUpFailed(error)))
      for (const rule of await this.#rules())
        await this.#runRule(rule, stop).catch((error: unknown) => {
          if (isUnavailable(error)) throw error
          observer.cleanUpFailed(new Error(`rows of ${rule.table} could not be deleted`, { cause: error }))
        })
    })
  }

  async #runRule(rule: CleanupRule, stop: StopSignal): Promise<void> {
    const { db, store, observer } = this.deps
    let total = 0
    while (!stop.aborted) {
      const rows = await store.deleteBatch(db, rule)
      total += rows
      if (rows === 0) break
    }
    observer.cleanedUp(rule.table, total)
  }

  async #rules(): Promise<CleanupRule[]> {
    const { db, rules, databaseNow } = this.deps
    const now = await databaseNow(db)
    const ago = (ms: number) => new Date(now.getTime() - ms)
    return [
      { table: 'sessions', condition: 'not_after < $1', olderThan: ago(3 * DAY_MS) },
      // Only these: a session that can still be refreshed must stay, so that its old tokens are recognized as reused.
      { table: 'sessions', condition: 'revoked_at < $1', olderThan: ago(rules.endedSessionMs) },
      {
        table: 'messageRequests',
        condition: 'asked_at < $1',
        olderThan: ago(Math.max(DAY_MS, rules.intervalMs)),
      },
      { table: 'signInAttempts', condition: 'last_at < $1', olderThan: ago(rules.guessesMs) },
      { table: 'knownNetworks', condition: 'last_seen_at < $1', olderThan: ago(rules.knownNetworkMs) },
      { table: 'codeAttempts', condition: 'window_ends_at < $1', olderThan: ago(0) },
      // A day longer than they count, for clocks that differ.
      { table: 'webauthnSpentChallenges', condition: 'expires_at < $1', olderThan: ago(DAY_MS) },
      { table: 'flowState', condition: 'created_at < $1', olderThan: ago(DAY_MS) },
      { table: 'mfaChallenges', condition: 'created_at < $1', olderThan: ago(DAY_MS) },
      {
        table: 'mfaFactors',
        condition: "status = 'unverified' and created_at < $1",
        olderThan: ago(DAY_MS),
      },
      ...(rules.auditMs === undefined
        ? []
        : [
            {
              table: 'auditLogEntries',
              condition: 'created_at < $1',
              olderThan: ago(rules.auditMs),
            } as const,
          ]),
      ...(rules.unconfirmedUserMs === undefined
        ? []
        : [
            {
              table: 'users',
              condition: NEVER_CONFIRMED,
              olderThan: ago(rules.unconfirmedUserMs),
            } as const,
            {
              table: 'pendingSignUps',
              condition: "origin = 'self' and created_at < $1",
              olderThan: ago(rules.unconfirmedUserMs),
            } as const,
            // As long as those with new addresses: which of the two it is must not show.
            {
              table: 'repeatedSignUps',
              condition: 'created_at < $1',
              olderThan: ago(rules.unconfirmedUserMs),
            } as const,
          ]),
      ...(rules.anonymousUsers
        ? [
            {
              table: 'users',
              condition: 'is_anonymous and created_at < $1',
              olderThan: ago(30 * DAY_MS),
            } as const,
          ]
        : []),
    ]
  }

  /** Runs periodically until the returned function is called, which waits for the batch in progress. */
  start(): () => Promise<void> {
    const runs = new Periodic({
      everyMs: PAUSE_MS,
      firstMs: PAUSE_MS,
      run: (stopping) => this.run(stopping),
      onError: (error) => this.deps.observer.cleanUpFailed(error),
    })
    runs.start()
    return () => runs.stop()
  }
}
