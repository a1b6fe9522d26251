import type { Queryable, Tx } from '@signet/db'
import { accountEventFunction, type Tables } from '../database/tables.js'
import type { OutboxStore } from '../outbox/outbox-store.js'

/** The outbox kind of account events. */
export const ACCOUNT_EVENT = 'account_event'

/** Writes the account events that report ended sessions. Bans, unbans and deletions change the users table, and triggers report them. */
export class AccountEventStore {
  constructor(
    private readonly t: Tables,
    private readonly outbox: Pick<OutboxStore, 'sendAfter'>,
  ) {}

  /**
   * Called by every store whose statement through `db` writes an account event, directly or by a trigger. The event is then sent right
   * after the commit instead of with the next poll.
   */
  written(db: Queryable | Tx): void {
    this.outbox.sendAfter(db, ACCOUNT_EVENT)
  }

  /** Asks other services to revoke everything that stems from a sign-in before this time. */
  async signedOut(tx: Tx, userId: string, at: Date): Promise<void> {
    await tx.query(`select ${accountEventFunction(this.t)}($1, 'user.signed_out', $2, '{}')`, [userId, at])
    this.written(tx)
  }
}

/** A receiver here accepts bodies of up to 16 KiB, and this many ids fit easily. */
const SESSIONS_PER_EVENT = 200

/**
 * Part of a statement that ends sessions: tells other services to end what was opened with them. `ended` is SQL for rows of `id,
 * user_id`, `at` the parameter with the time. Each row of the result is one event about `n` sessions.
 */
export const publishEndedSessions = (t: Tables, { ended, at }: { ended: string; at: string }): string => `
  select n, ${accountEventFunction(t)}(user_id, 'user.sessions_ended', ${at}, jsonb_build_object('session_ids', ids))
  from (
    select user_id, count(*) as n, jsonb_agg(id) as ids
    from (
      select id, user_id, (row_number() over (partition by user_id) - 1) / ${SESSIONS_PER_EVENT} as part from ${ended}
    ) numbered
    group by user_id, part
  ) parts`
