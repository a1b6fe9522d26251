import type { Queryable, Tx } from '@signet/db'
import { randomUUID } from 'node:crypto'
import type { Tables } from '../database/tables.js'
import type { JsonObject } from './user.js'

export type NewIdentity = {
  userId: string
  provider: string
  providerId: string
  identityData: JsonObject
}

export class IdentityStore {
  constructor(private readonly t: Tables) {}

  async insert(tx: Tx, identity: NewIdentity, now: Date): Promise<string> {
    const id = randomUUID()
    await tx.query(
      `insert into ${this.t.identities} (id, user_id, provider, provider_id, identity_data, last_sign_in_at,
         created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $6, $6)`,
      [
        id,
        identity.userId,
        identity.provider,
        identity.providerId,
        JSON.stringify(identity.identityData),
        now,
      ],
    )
    return id
  }

  /**
   * Makes sure that until this transaction ends, no other one uses the same account at a provider to sign in, to link it or to accept an
   * invitation. Taken before all other locks.
   */
  async lockAccount(tx: Tx, provider: string, providerId: string): Promise<void> {
    const account = JSON.stringify([this.t.identities, provider, providerId])
    await tx.query({ name: 'identity_lock', text: 'select pg_advisory_xact_lock(hashtextextended($1, 0))' }, [
      account,
    ])
  }

  /** The user and the identity of an account at a provider. */
  async find(
    db: Queryable,
    provider: string,
    providerId: string,
  ): Promise<{ id: string; userId: string } | null> {
    const { rows } = await db.query<{ id: string; user_id: string }>(
      `select id, user_id from ${this.t.identities} where provider = $1 and provider_id = $2`,
      [provider, providerId],
    )
    return rows[0] ? { id: rows[0].id, userId: rows[0].user_id } : null
  }

  /**
   * The users who have one of these addresses, in the account or in a verified identity (docs/specification.md#account-linking). An
   * unproven account counts only if an administrator entered its address. Otherwise, a stranger who signed up with it would look like a
   * second owner.
   */
  async ownersOfEmail(db: Queryable, emails: readonly string[]): Promise<string[]> {
    const { rows } = await db.query<{ id: string }>(
      `select u.id from ${this.t.users} u where lower(u.email) = any($1::text[]) and not u.is_sso_user
         and (u.confirmed_at is not null or exists (
           select 1 from ${this.t.pendingSignUps}
           where user_id = u.id and origin = 'administrator' and coalesce(address_kind, 'email') = 'email'))
       union
       select u.id from ${this.t.identities} i join ${this.t.users} u on u.id = i.user_id
       where i.email = any($1::text[]) and i.identity_data ->> 'email_verified' = 'true'
         and not u.is_sso_user`,
      [emails],
    )
    return rows.map(({ id }) => id)
  }

  /** Stores what the provider says at a sign-in. */
  async signIn(tx: Tx, id: string, identityData: JsonObject, now: Date): Promise<void> {
    await tx.query(
      `update ${this.t.identities} set identity_data = $2, last_sign_in_at = $3, updated_at = $3 where id = $1`,
      [id, JSON.stringify(identityData), now],
    )
  }

  /** Removes all identities of a user except one. */
  async removeOthers(tx: Tx, userId: string, exceptId: string): Promise<void> {
    await tx.query(`delete from ${this.t.identities} where user_id = $1 and id <> $2`, [userId, exceptId])
  }

  /** Removes a user's provider identities except one. */
  async removeForeign(tx: Tx, userId: string, exceptId: string | null): Promise<void> {
    await tx.query(
      `delete from ${this.t.identities}
       where user_id = $1 and provider not in ('email', 'phone') and id is distinct from $2::uuid`,
      [userId, exceptId],
    )
  }

  async updateData(db: Queryable, id: string, identityData: JsonObject, now: Date): Promise<void> {
    await db.query(`update ${this.t.identities} set identity_data = $2, updated_at = $3 where id = $1`, [
      id,
      JSON.stringify(identityData),
      now,
    ])
  }

  /** Replaces the subject and the data, while the user is being erased. */
  async anonymize(tx: Tx, id: string, providerId: string, now: Date): Promise<void> {
    await tx.query(
      `update ${this.t.identities} set provider_id = $2, identity_data = '{}', updated_at = $3 where id = $1`,
      [id, providerId, now],
    )
  }

  async remove(tx: Tx, id: string): Promise<void> {
    await tx.query(`delete from ${this.t.identities} where id = $1`, [id])
  }
}
