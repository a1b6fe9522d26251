import { randomBytes } from 'node:crypto'
import type { Queryable, Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { Challenge } from '../flows/pkce.js'
import type { Tables } from '../database/tables.js'
import type { Slot } from './one-time-token.js'

export type StoredToken = {
  id: string
  userId: string
  slot: Slot
  /** The address that the secrets were sent to. They prove nothing else. */
  sentTo: Address
  /** The sign-up that takes effect with this token. */
  signUpId: string | null
  /** Anyone could request this token, because it is not the first one of its sign-up. */
  byAnyone: boolean
  /** The client that requested it, hashed; null for administrators. */
  requestedFrom: Buffer | null
  /** The person who uses the link must hold the verifier of this challenge. */
  challenge: Challenge | null
  createdAt: Date
}

type Row = {
  id: string
  user_id: string
  token_type: Slot
  relates_to: string
  channel: Address['kind']
  sign_up_id: string | null
  by_anyone: boolean
  requested_from: Buffer | null
  code_challenge: string | null
  code_challenge_method: Challenge['method'] | null
  created_at: Date
}
const COLUMNS = `id, user_id, token_type, relates_to, channel, sign_up_id, requested_by is not null as by_anyone,
  requested_from, code_challenge, code_challenge_method, created_at`

export type NewToken = {
  id: string
  userId: string
  slot: Slot
  linkHash: Buffer | null
  otpHash: Buffer
  sentTo: Address
  signUpId: string | null
  /** The client that requested it, hashed, if anyone may request it. */
  requestedBy: Buffer | null
  /** The client that requested it, even if only the owner may; null for administrators. */
  requestedFrom: Buffer | null
  challenge: Challenge | null
}

/** A typed code. `hashes` are the hashes of the code, one for each slot that it may belong to. */
export type CodeSearch = {
  hashes: readonly Buffer[]
  slots: readonly Slot[]
  sentTo: Address
  /** The hash of the client that typed it. */
  client: Buffer
  /** The account that the code must belong to; null for any. */
  userId: string | null
  /** Which codes to compare it with: all, those that no other client requested, or those that this client requested. */
  among: 'all' | 'not_of_others' | 'own'
}

/**
 * How many codes a typed one is compared with: at most two of each client and six of the address, beginning with the client's own. Several
 * accounts may want to change to the same address, and with every further code a stranger's guess is more likely to hit one. With fewer
 * codes, the requests of one client could disable a code that its reader types in another network than the one where it was requested
 * (infra/decisions/0126-wrong-codes-count-against-the-person.md).
 */
export const CODES_OF_CLIENT = 2
export const CODES_OF_ADDRESS = 6

export class OneTimeTokenStore {
  constructor(private readonly t: Tables) {}

  /**
   * Stores a token and deletes those that it replaces in the same slot (each sign-up has its own slot): the earlier one of the same client,
   * and all but the `others` newest ones of other clients. A token that a client requested does not replace the one that no client
   * requested.
   */
  async put(tx: Tx, token: NewToken, others: number, now: Date): Promise<void> {
    await tx.query(
      `with displaced as (
         delete from ${this.t.oneTimeTokens} where id in (
           select id from ${this.t.oneTimeTokens}
           where user_id = $2 and token_type = $3 and sign_up_id is not distinct from $8
             and requested_by is distinct from $12 and ($12::bytea is null or requested_by is not null)
           order by created_at desc, id offset $13))
       insert into ${this.t.oneTimeTokens} (id, user_id, token_type, link_hash, otp_hash, relates_to, channel,
         sign_up_id, code_challenge, code_challenge_method, created_at, updated_at, requested_by, requested_from)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $14)
       on conflict (user_id, token_type, sign_up_id, requested_by) do update set id = excluded.id,
         link_hash = excluded.link_hash, otp_hash = excluded.otp_hash, relates_to = excluded.relates_to,
         channel = excluded.channel, code_challenge = excluded.code_challenge,
         code_challenge_method = excluded.code_challenge_method, created_at = excluded.created_at,
         updated_at = excluded.updated_at, requested_from = excluded.requested_from`,
      [
        token.id,
        token.userId,
        token.slot,
        token.linkHash,
        token.otpHash,
        token.sentTo.value,
        token.sentTo.kind,
        token.signUpId,
        token.challenge?.challenge ?? null,
        token.challenge?.method ?? null,
        now,
        token.requestedBy,
        token.requestedBy === null ? 0 : others,
        token.requestedFrom,
      ],
    )
  }

  async findByLink(db: Queryable, linkHash: Buffer, slots: readonly Slot[]): Promise<StoredToken | null> {
    const { rows } = await db.query<Row>(
      `select ${COLUMNS} from ${this.t.oneTimeTokens} where link_hash = $1 and token_type = any($2::text[])`,
      [linkHash, slots],
    )
    return rows[0] ? toToken(rows[0]) : null
  }

  /** The client's own token with this code, otherwise the newest. Several sign-ups with a test number share one code. */
  async findByCode(
    db: Queryable,
    { hashes, slots, sentTo, client, userId, among }: CodeSearch,
  ): Promise<StoredToken | null> {
    const { rows } = await db.query<Row>(
      `with of_address as (
         select o.*, requested_from is not distinct from $7::bytea as own, row_number() over (
           partition by requested_from, case when requested_from is null then user_id end
           order by created_at desc, id) as nth
         from ${this.t.oneTimeTokens} o
         where relates_to = $2 and channel = $3 and token_type = any($4::text[])
           and exists (select 1 from ${this.t.users} u where u.id = o.user_id and not u.is_sso_user)
           and ($8::uuid is null or user_id = $8)
           and ($9 = 'all' or requested_from = $7 or ($9 = 'not_of_others' and requested_from is null))
       ), compared as (
         select * from of_address where nth <= $5 order by own desc, created_at desc, id limit $6
       )
       select ${COLUMNS} from compared where otp_hash = any($1::bytea[])
       order by own desc, created_at desc, id limit 1`,
      [hashes, sentTo.value, sentTo.kind, slots, CODES_OF_CLIENT, CODES_OF_ADDRESS, client, userId, among],
    )
    return rows[0] ? toToken(rows[0]) : null
  }

  async findInSlot(db: Queryable, userId: string, slot: Slot, otpHash: Buffer): Promise<StoredToken | null> {
    const { rows } = await db.query<Row>(
      `select ${COLUMNS} from ${this.t.oneTimeTokens}
       where user_id = $1 and token_type = $2 and otp_hash = $3`,
      [userId, slot, otpHash],
    )
    return rows[0] ? toToken(rows[0]) : null
  }

  /** Looks a token up again once the user's row is locked. */
  async find(tx: Tx, id: string): Promise<StoredToken | null> {
    const { rows } = await tx.query<Row>(`select ${COLUMNS} from ${this.t.oneTimeTokens} where id = $1`, [id])
    return rows[0] ? toToken(rows[0]) : null
  }

  /** False if another request was faster. */
  async remove(db: Queryable, id: string): Promise<boolean> {
    const { rowCount } = await db.query(`delete from ${this.t.oneTimeTokens} where id = $1`, [id])
    return rowCount === 1
  }

  /** Disables the link; the code still works. */
  async removeLink(tx: Tx, id: string): Promise<void> {
    const noLinkHasIt = randomBytes(32)
    await tx.query(`update ${this.t.oneTimeTokens} set link_hash = $2 where id = $1`, [id, noLinkHasIt])
  }

  /** Removes all tokens that prove the same, no matter which address they were sent to. */
  async removeSlot(tx: Tx, userId: string, slot: Slot): Promise<void> {
    await tx.query(`delete from ${this.t.oneTimeTokens} where user_id = $1 and token_type = $2`, [
      userId,
      slot,
    ])
  }

  async removeAll(tx: Tx, userId: string): Promise<void> {
    await tx.query(`delete from ${this.t.oneTimeTokens} where user_id = $1`, [userId])
  }

  async newestOfSignUp(tx: Tx, signUpId: string): Promise<Date | null> {
    const { rows } = await tx.query<{ at: Date | null }>(
      `select max(created_at) as at from ${this.t.oneTimeTokens} where sign_up_id = $1`,
      [signUpId],
    )
    return rows[0]?.at ?? null
  }
}

function toToken(row: Row): StoredToken {
  const { code_challenge: challenge, code_challenge_method: method } = row
  return {
    id: row.id,
    userId: row.user_id,
    slot: row.token_type,
    sentTo: { kind: row.channel, value: row.relates_to },
    signUpId: row.sign_up_id,
    byAnyone: row.by_anyone,
    requestedFrom: row.requested_from,
    challenge: challenge === null || method === null ? null : { challenge, method },
    createdAt: row.created_at,
  }
}
