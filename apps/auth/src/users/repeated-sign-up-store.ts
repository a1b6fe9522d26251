import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'

/** A sign-up with an address that has an account. It never takes effect. */
export type RepeatedSignUp = {
  readonly id: string
  /** A keyed hash. */
  readonly address: Buffer
  readonly passwordHash: string
  /** The client that signed up, hashed. */
  readonly requestedBy: Buffer | undefined
}

/**
 * Sign-ups of strangers and forgetful owners for addresses that have accounts. Signing in with the password of one gets the same answer as
 * for any other sign-up that waits for its confirmation, even if the account changes.
 */
export class RepeatedSignUpStore {
  constructor(private readonly t: Tables) {}

  /** Stores a sign-up and keeps `count` of the address. As for pending sign-ups, clients that have sent most since lose theirs first. */
  async insert(tx: Tx, signUp: RepeatedSignUp, count: number, now: Date): Promise<void> {
    const { id, address, passwordHash, requestedBy = null } = signUp
    await tx.query(
      `with others as (
         select id, created_at, requested_by is not distinct from $4::bytea as is_of_client,
           row_number() over (partition by requested_by order by created_at desc, id desc) as newer_of_client
         from ${this.t.repeatedSignUps} where address = $2),
       numbered as (
         select id, row_number() over (
           order by newer_of_client + is_of_client::int, created_at desc, id desc) as place from others),
       surplus as (
         delete from ${this.t.repeatedSignUps} where id in (select id from numbered where place >= $6))
       insert into ${this.t.repeatedSignUps} (id, address, password_hash, requested_by, created_at)
       values ($1, $2, $3, $4, $5)`,
      [id, address, passwordHash, requestedBy, now, count],
    )
  }

  async remove(db: Queryable, id: string): Promise<void> {
    await db.query(`delete from ${this.t.repeatedSignUps} where id = $1`, [id])
  }
}
