import { type Queryable, type Tx } from '@signet/db'
import { type Tables } from '../tables.js'
import { type Slot } from './one-time-token.js'

export type StoredToken = {
  id: string
  userId: string
  slot: Slot
  otpHash: Buffer
  relatesTo: string
  flow: 'implicit' | 'pkce'
  createdAt: Date
}

type Row = {
  id: string
  user_id: string
  token_type: Slot
  otp_hash: Buffer
  relates_to: string
  flow: 'implicit' | 'pkce'
  created_at: Date
}
const COLUMNS = 'id, user_id, token_type, otp_hash, relates_to, flow, created_at'

export type NewToken = {
  id: string
  userId: string
  slot: Slot
  linkHash: Buffer | null
  otpHash: Buffer
  relatesTo: string
  flow: 'implicit' | 'pkce'
}

export class OneTimeTokenStore {
  constructor(private readonly t: Tables) {}

  /** Fills the slot; what was in it does not work any more. */
  async put(tx: Tx, token: NewToken, now: Date): Promise<void> {
    await tx.query(
      `insert into ${this.t.oneTimeTokens} (id, user_id, token_type, link_hash, otp_hash, relates_to, flow, attempts,
         created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, 0, $8, $8)
       on conflict (user_id, token_type) do update set id = excluded.id, link_hash = excluded.link_hash,
         otp_hash = excluded.otp_hash, relates_to = excluded.relates_to, flow = excluded.flow, attempts = 0,
         created_at = excluded.created_at, updated_at = excluded.updated_at`,
      [token.id, token.userId, token.slot, token.linkHash, token.otpHash, token.relatesTo, token.flow, now],
    )
  }

  async findByLink(db: Queryable, linkHash: Buffer, slots: readonly Slot[]): Promise<StoredToken | null> {
    const { rows } = await db.query<Row>(
      `select ${COLUMNS} from ${this.t.oneTimeTokens} where link_hash = $1 and token_type = any($2::text[])`,
      [linkHash, slots],
    )
    return rows[0] ? toToken(rows[0]) : null
  }

  /** Users whose slot holds a code that went to this address; more than one when several claim the address. */
  async usersAwaiting(
    db: Queryable,
    address: string,
    aud: string,
    slots: readonly Slot[],
    limit: number,
  ): Promise<string[]> {
    const { rows } = await db.query<{ user_id: string }>(
      `select distinct o.user_id from ${this.t.oneTimeTokens} o join ${this.t.users} u on u.id = o.user_id
       where o.relates_to = $1 and o.token_type = any($3::text[]) and u.aud = $2 and not u.is_sso_user
       order by o.user_id limit $4`,
      [address, aud, slots, limit],
    )
    return rows.map(({ user_id }) => user_id)
  }

  /** Still there, now that the user's row is locked? */
  async find(tx: Tx, id: string): Promise<StoredToken | null> {
    const { rows } = await tx.query<Row>(`select ${COLUMNS} from ${this.t.oneTimeTokens} where id = $1`, [id])
    return rows[0] ? toToken(rows[0]) : null
  }

  /** Counts a guess against each of the user's slots for this address, and returns them for comparison. */
  async countAttempt(tx: Tx, userId: string, address: string, slots: readonly Slot[]) {
    const { rows } = await tx.query<Row & { attempts: number }>(
      `update ${this.t.oneTimeTokens} set attempts = attempts + 1
       where user_id = $1 and relates_to = $2 and token_type = any($3::text[])
       returning ${COLUMNS}, attempts`,
      [userId, address, slots],
    )
    return rows
      .map((row) => ({ ...toToken(row), attempts: row.attempts }))
      .sort((a, b) => slots.indexOf(a.slot) - slots.indexOf(b.slot))
  }

  /** A guess that failed for another reason than the code does not count. */
  async remove(db: Queryable, id: string): Promise<boolean> {
    const { rowCount } = await db.query(`delete from ${this.t.oneTimeTokens} where id = $1`, [id])
    return rowCount === 1
  }

  async removeAll(tx: Tx, userId: string): Promise<void> {
    await tx.query(`delete from ${this.t.oneTimeTokens} where user_id = $1`, [userId])
  }

  async hasSlot(tx: Tx, userId: string, slot: Slot): Promise<boolean> {
    const { rows } = await tx.query(
      `select 1 as found from ${this.t.oneTimeTokens} where user_id = $1 and token_type = $2`,
      [userId, slot],
    )
    return rows.length > 0
  }
}

function toToken(row: Row): StoredToken {
  return {
    id: row.id,
    userId: row.user_id,
    slot: row.token_type,
    otpHash: row.otp_hash,
    relatesTo: row.relates_to,
    flow: row.flow,
    createdAt: row.created_at,
  }
}
