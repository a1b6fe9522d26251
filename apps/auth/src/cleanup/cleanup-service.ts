import { withAdvisoryLock, type Db } from '@signet/db'
import { type Events } from '../events.js'
import { type CleanupRule, type CleanupStore } from './cleanup-store.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const PAUSE_MS = 60_000

type Deps = {
  db: Db
  store: CleanupStore
  events: Events
  rules: {
    /** Tables of one namespace are cleaned by one process at a time. */
    lockName: string
    accessTokenMs: number
    anonymousUsers: boolean
    /** The longest gap between two messages. */
    intervalMs: number
  }
  now: () => Date
}

/** Deletes what nothing needs any more (contract 13.4). */
export class CleanupService {
  constructor(private readonly deps: Deps) {}

  /** One run over everything; nothing when another process is at it. */
  async run(): Promise<void> {
    const { db, rules } = this.deps
    await withAdvisoryLock(db, rules.lockName, async () => {
      for (const rule of this.#rules()) await this.#runRule(rule)
    })
  }

  async #runRule(rule: CleanupRule): Promise<void> {
    const { db, store, events } = this.deps
    let total = 0
    for (;;) {
      const rows = await store.deleteBatch(db, rule)
      total += rows
      if (rows === 0) break
    }
    events.cleanedUp(rule.table, total)
  }

  #rules(): CleanupRule[] {
    const { rules, now } = this.deps
    const ago = (ms: number) => new Date(now().getTime() - ms)
    return [
      { table: 'refreshTokens', condition: 'revoked and revoked_at < $1', olderThan: ago(DAY_MS) },
      { table: 'sessions', condition: 'not_after < $1', olderThan: ago(3 * DAY_MS) },
      // Their access tokens must have expired: a deleted session is refused where a revoked one is not.
      {
        table: 'sessions',
        condition: 'revoked_at < $1',
        olderThan: ago(Math.max(DAY_MS, rules.accessTokenMs)),
      },
      {
        table: 'unsentMessages',
        condition: 'asked_at < $1',
        olderThan: ago(Math.max(DAY_MS, rules.intervalMs)),
      },
      { table: 'flowState', condition: 'created_at < $1', olderThan: ago(DAY_MS) },
      { table: 'mfaChallenges', condition: 'created_at < $1', olderThan: ago(DAY_MS) },
      {
        table: 'mfaFactors',
        condition: "status = 'unverified' and created_at < $1",
        olderThan: ago(DAY_MS),
      },
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

  /** Runs now and then until the returned function is called, which waits for a run that is under way. */
  start(): () => Promise<void> {
    const { events } = this.deps
    let stopped = false
    let timer: NodeJS.Timeout | undefined
    let running = Promise.resolve()
    const schedule = () => {
      if (stopped) return
      timer = setTimeout(() => {
        running = this.run()
          .catch((error: unknown) => events.cleanUpFailed(error))
          .finally(schedule)
      }, PAUSE_MS)
      timer.unref()
    }
    schedule()
    return async () => {
      stopped = true
      clearTimeout(timer)
      await running
    }
  }
}
