import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'

type Pending = 'newEmail' | 'newPhone'

const COLUMNS = {
  newEmail: 'email_change',
  newPhone: 'phone_change',
} as const satisfies Record<Pending, string>

const NOTHING_PENDING = {
  newEmail: 'email_change = null, email_change_confirm_status = 0',
  newPhone: 'phone_change = null',
} as const satisfies Record<Pending, string>

/** The tokens that finish a change of address. */
export const CHANGE_TOKENS = {
  newEmail: ['email_change_new', 'email_change_current'],
  newPhone: ['phone_change'],
} as const satisfies Record<Pending, readonly string[]>

/** Pending changes of address: a column of the user, and the tokens that finish the change. */
export class PendingChangeStore {
  constructor(private readonly t: Tables) {}

  /** Begins a change to another address. Nothing of an earlier change remains, and only this token. */
  async beginEmail(
    tx: Tx,
    id: string,
    { newEmail, token }: { newEmail: string; token: string },
    now: Date,
  ): Promise<void> {
    await tx.query(
      `with tokens as (
         delete from ${this.t.oneTimeTokens} where user_id = $1 and token_type = any($4) and id <> $5)
       update ${this.t.users}
       set email_change = $2, email_change_confirm_status = 0, updated_at = $3 where id = $1`,
      [id, newEmail, now, CHANGE_TOKENS.newEmail, token],
    )
  }

  /** Voids a change of address that its owner no longer wants. Returns false if none is pending. */
  async drop(tx: Tx, id: string, pending: Pending, now: Date): Promise<boolean> {
    const column = COLUMNS[pending]
    const { rowCount } = await tx.query(
      `with tokens as (delete from ${this.t.oneTimeTokens} where user_id = $1 and token_type = any($3))
       update ${this.t.users} set ${NOTHING_PENDING[pending]}, updated_at = $2
       where id = $1 and ${column} is not null`,
      [id, now, CHANGE_TOKENS[pending]],
    )
    return rowCount === 1
  }

  /**
   * Voids all pending changes of address; false if there is none. An anonymous user keeps them, because there is no other way back into
   * the account.
   */
  async dropAll(tx: Tx, id: string, now: Date): Promise<boolean> {
    const { rowCount } = await tx.query(
      `with dropped as (
         update ${this.t.users} set ${Object.values(NOTHING_PENDING).join(', ')}, updated_at = $2
         where id = $1 and not is_anonymous and (email_change is not null or phone_change is not null)
         returning id
       ),
       tokens as (
         delete from ${this.t.oneTimeTokens} o using dropped d where o.user_id = d.id and o.token_type = any($3)
       )
       select from dropped`,
      [id, now, Object.values(CHANGE_TOKENS).flat()],
    )
    return rowCount === 1
  }

  /** Clears a pending address that no token can confirm anymore, because its messages were never delivered. */
  async dropUndelivered(db: Queryable, id: string, pending: Pending): Promise<void> {
    await db.query(
      `update ${this.t.users} set ${COLUMNS[pending]} = null
       where id = $1 and not exists (
         select 1 from ${this.t.oneTimeTokens} where user_id = $1 and token_type = any($2))`,
      [id, CHANGE_TOKENS[pending]],
    )
  }
}
