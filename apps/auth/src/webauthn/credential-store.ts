import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'
import type { Credential } from './credential.js'
import type { NewCredential } from './relying-party.js'

type Row = {
  id: string
  user_id: string
  credential_id: Buffer
  public_key: Buffer
  transports: string[]
  friendly_name: string
  created_at: Date
  last_used_at: Date | null
}

type Owner = { id: string; userId: string; factorId: string | null; friendlyName: string }

const COLUMNS = 'id, user_id, credential_id, public_key, transports, friendly_name, created_at, last_used_at'

/** Public keys of passkeys and of second factors. A passkey has no factor. A search for one kind never finds the other. */
export class CredentialStore {
  constructor(private readonly t: Tables) {}

  /** Oldest first. */
  async passkeysOf(db: Queryable, userId: string): Promise<Credential[]> {
    const { rows } = await db.query<Row>(
      `select ${COLUMNS} from ${this.t.webauthnCredentials}
       where user_id = $1 and factor_id is null order by created_at, id`,
      [userId],
    )
    return rows.map(toCredential)
  }

  async findPasskey(db: Queryable, credentialId: Buffer): Promise<Credential | null> {
    const { rows } = await db.query<Row>(
      `select ${COLUMNS} from ${this.t.webauthnCredentials} where credential_id = $1 and factor_id is null`,
      [credentialId],
    )
    return rows[0] ? toCredential(rows[0]) : null
  }

  async findOfFactor(db: Queryable, factorId: string): Promise<Credential | null> {
    const { rows } = await db.query<Row>(
      `select ${COLUMNS} from ${this.t.webauthnCredentials} where factor_id = $1`,
      [factorId],
    )
    return rows[0] ? toCredential(rows[0]) : null
  }

  /** The keys of a user's second factors. */
  async ofFactors(db: Queryable, userId: string): Promise<Credential[]> {
    const { rows } = await db.query<Row>(
      `select ${COLUMNS} from ${this.t.webauthnCredentials} where user_id = $1 and factor_id is not null`,
      [userId],
    )
    return rows.map(toCredential)
  }

  /** False if this credential is already registered. */
  async insert(tx: Tx, owner: Owner, made: NewCredential, now: Date): Promise<boolean> {
    const { rowCount } = await tx.query(
      `insert into ${this.t.webauthnCredentials} (id, user_id, factor_id, credential_id, public_key, sign_count,
         transports, friendly_name, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (credential_id) do nothing`,
      [
        owner.id,
        owner.userId,
        owner.factorId,
        made.credentialId,
        made.publicKey,
        made.signCount,
        made.transports,
        owner.friendlyName,
        now,
      ],
    )
    return rowCount === 1
  }

  /**
   * Stores the counter that the authenticator sent. False if it has not increased, which suggests a copied key, or if the credential is
   * gone. Authenticators that do not count always send 0.
   */
  async use(tx: Tx, id: string, signCount: number, now: Date): Promise<boolean> {
    const { rowCount } = await tx.query(
      `update ${this.t.webauthnCredentials} set sign_count = $2, last_used_at = $3
       where id = $1 and (sign_count < $2 or (sign_count = 0 and $2 = 0))`,
      [id, signCount, now],
    )
    return rowCount === 1
  }

  async rename(tx: Tx, userId: string, id: string, friendlyName: string): Promise<Credential | null> {
    const { rows } = await tx.query<Row>(
      `update ${this.t.webauthnCredentials} set friendly_name = $3
       where user_id = $1 and id = $2 and factor_id is null returning ${COLUMNS}`,
      [userId, id, friendlyName],
    )
    return rows[0] ? toCredential(rows[0]) : null
  }

  async remove(tx: Tx, userId: string, id: string): Promise<boolean> {
    const { rowCount } = await tx.query(
      `delete from ${this.t.webauthnCredentials} where user_id = $1 and id = $2 and factor_id is null`,
      [userId, id],
    )
    return rowCount === 1
  }
}

function toCredential(row: Row): Credential {
  return {
    id: row.id,
    userId: row.user_id,
    credentialId: row.credential_id,
    publicKey: row.public_key,
    transports: row.transports,
    friendlyName: row.friendly_name,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }
}
