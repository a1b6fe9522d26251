import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'

export type Challenge = {
  readonly id: string
  readonly factorId: string
  readonly ip: string
  /** Hash of the code that was sent; null for totp. */
  readonly otpHash: Buffer | null
  readonly verifiedAt: Date | null
  readonly createdAt: Date
}

type Row = {
  id: string
  factor_id: string
  ip_address: string
  otp_hash: Buffer | null
  verified_at: Date | null
  created_at: Date
}

/** Challenges of second factors. */
export class ChallengeStore {
  constructor(private readonly t: Tables) {}

  async insert(tx: Tx, challenge: Omit<Challenge, 'verifiedAt' | 'createdAt'>, now: Date): Promise<void> {
    await tx.query(
      `insert into ${this.t.mfaChallenges} (id, factor_id, ip_address, otp_hash, created_at)
       values ($1, $2, $3, $4, $5)`,
      [challenge.id, challenge.factorId, challenge.ip, challenge.otpHash, now],
    )
  }

  async find(db: Queryable, factorId: string, id: string): Promise<Challenge | null> {
    const { rows } = await db.query<Row>(
      `select id, factor_id, ip_address, otp_hash, verified_at, created_at from ${this.t.mfaChallenges}
       where factor_id = $1 and id = $2`,
      [factorId, id],
    )
    return rows[0] ? toChallenge(rows[0]) : null
  }

  /** Consumes a challenge; the caller has read it under the lock on the user. */
  async consume(tx: Tx, id: string, now: Date): Promise<void> {
    await tx.query(`update ${this.t.mfaChallenges} set verified_at = $2 where id = $1`, [id, now])
  }

  async remove(db: Queryable, id: string): Promise<void> {
    await db.query(`delete from ${this.t.mfaChallenges} where id = $1`, [id])
  }
}

function toChallenge(row: Row): Challenge {
  return {
    id: row.id,
    factorId: row.factor_id,
    ip: row.ip_address,
    otpHash: row.otp_hash,
    verifiedAt: row.verified_at,
    createdAt: row.created_at,
  }
}
