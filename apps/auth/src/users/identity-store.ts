import { type Queryable, type Tx } from '@signet/db'
import { randomUUID } from 'node:crypto'
import { type Tables } from '../tables.js'
import { type JsonObject } from './user.js'

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

  async updateData(db: Queryable, id: string, identityData: JsonObject, now: Date): Promise<void> {
    await db.query(`update ${this.t.identities} set identity_data = $2, updated_at = $3 where id = $1`, [
      id,
      JSON.stringify(identityData),
      now,
    ])
  }

  /** Replaces subject and data, for a user that is being forgotten. */
  async anonymise(tx: Tx, id: string, providerId: string, now: Date): Promise<void> {
    await tx.query(
      `update ${this.t.identities} set provider_id = $2, identity_data = '{}', updated_at = $3 where id = $1`,
      [id, providerId, now],
    )
  }

  async remove(tx: Tx, id: string): Promise<void> {
    await tx.query(`delete from ${this.t.identities} where id = $1`, [id])
  }
}
