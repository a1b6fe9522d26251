import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'
import type { AsymmetricAlgorithm } from '@signet/jwt'
import type { SigningKey } from './signing-key.js'

const COLUMNS = 'kid, alg, sealed_key, token_seconds, created_at, activates_at, superseded_at, retired_at'

type Row = {
  kid: string
  alg: AsymmetricAlgorithm
  sealed_key: string | null
  token_seconds: number
  created_at: Date
  activates_at: Date
  superseded_at: Date | null
  retired_at: Date | null
}

/** The table of signing keys: a handful of rows, read as a whole. */
export class SigningKeyStore {
  constructor(private readonly t: Tables) {}

  async list(db: Queryable): Promise<SigningKey[]> {
    const { rows } = await db.query<Row>(
      `select ${COLUMNS} from ${this.t.signingKeys} order by activates_at, kid`,
    )
    return rows.map(toSigningKey)
  }

  /** Serializes all changes to the keys. Readers are not blocked. */
  async lock(tx: Tx): Promise<void> {
    await tx.query(`lock table ${this.t.signingKeys} in share row exclusive mode`)
  }

  async insert(tx: Tx, key: SigningKey): Promise<void> {
    await tx.query(`insert into ${this.t.signingKeys} (${COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8)`, [
      key.kid,
      key.alg,
      key.sealedKey,
      key.tokenSeconds,
      key.createdAt,
      key.activatesAt,
      key.supersededAt,
      key.retiredAt,
    ])
  }

  /** Lets the keys with these names sign until `at`, or indefinitely. */
  async supersede(tx: Tx, kids: readonly string[], at: Date | null): Promise<void> {
    await tx.query(`update ${this.t.signingKeys} set superseded_at = $2 where kid = any($1)`, [kids, at])
  }

  /** Retires a key permanently and deletes its private half. */
  async retire(tx: Tx, kid: string, at: Date): Promise<void> {
    await tx.query(
      `update ${this.t.signingKeys} set retired_at = $2, sealed_key = null where kid = $1 and retired_at is null`,
      [kid, at],
    )
  }

  /** Records that tokens signed with these keys may live this long. */
  async extendTokens(db: Queryable, kids: readonly string[], seconds: number): Promise<void> {
    await db.query(
      `update ${this.t.signingKeys} set token_seconds = $2 where kid = any($1) and token_seconds < $2`,
      [kids, seconds],
    )
  }
}

function toSigningKey(row: Row): SigningKey {
  return {
    kid: row.kid,
    alg: row.alg,
    sealedKey: row.sealed_key,
    tokenSeconds: row.token_seconds,
    createdAt: row.created_at,
    activatesAt: row.activates_at,
    supersededAt: row.superseded_at,
    retiredAt: row.retired_at,
  }
}
