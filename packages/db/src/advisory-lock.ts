import { setTimeout as sleep } from 'node:timers/promises'
import pTimeout from 'p-timeout'
import type { Db, Tx } from './db.js'
import { noAnswer } from './pg-errors.js'

export type AdvisoryLockOptions = {
  /** The server releases the lock when the holder has been silent for this long, in milliseconds; 5000 by default. */
  timeoutMs?: number
}

const TIMEOUT_MS = 5_000
const RENEWALS_PER_TIMEOUT = 5

/**
 * Runs `work` while holding the advisory lock `name`, or returns undefined immediately if another process holds it. For periodic jobs
 * that run on one instance at a time. The lock belongs to a transaction that the server ends when its client goes silent, so a process
 * that was killed, cut off or frozen cannot keep it. `work` may still be running on other connections at that time: `lost` tells it to
 * stop, its effects must be harmless while the next holder runs, and the loss of the lock replaces its result with an error.
 */
export function withAdvisoryLock<T>(
  db: Db,
  name: string,
  work: (lost: AbortSignal) => Promise<T>,
  { timeoutMs = TIMEOUT_MS }: AdvisoryLockOptions = {},
): Promise<T | undefined> {
  // The transaction changes nothing and has no snapshot between statements, so it does not hold back vacuum, however long it takes.
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ locked: boolean }>(
      `select set_config('idle_in_transaction_session_timeout', $2, true),
         pg_try_advisory_xact_lock(hashtextextended($1, 0)) as locked`,
      [name, String(timeoutMs)],
    )
    if (!rows[0]?.locked) return undefined
    const lost = new AbortController()
    const ended = new AbortController()
    const renewed = renew(tx, timeoutMs, ended.signal).catch((error: unknown) => lost.abort(error))
    try {
      return await work(lost.signal)
    } finally {
      ended.abort()
      await renewed
      // Also replaces an error of `work`, so that no rollback is sent on this connection.
      lost.signal.throwIfAborted()
    }
  })
}

/** Keeps showing the server that this process is alive until `ended`. Rejects if that fails. */
async function renew(tx: Tx, timeoutMs: number, ended: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(timeoutMs / RENEWALS_PER_TIMEOUT, undefined, { signal: ended }).catch(() => undefined)
    if (ended.aborted) return
    await pTimeout(tx.query('select 1'), { milliseconds: timeoutMs, message: noAnswer() })
  }
}
