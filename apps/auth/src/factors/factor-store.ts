import type { Queryable, Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'
import type { Factor } from '../users/user.js'

export type NewFactor = Pick<Factor, 'id' | 'friendlyName' | 'factorType' | 'phone'> & {
  userId: string
  /** Sealed; only totp has one. */
  secret: string | null
}

/** A factor with the members that must not be shown. */
export type StoredFactor = Factor & {
  readonly secret: string | null
  readonly lastUsedStep: number | null
}

type Row = {
  id: string
  friendly_name: string
  factor_type: Factor['factorType']
  status: Factor['status']
  phone: string | null
  secret: string | null
  /** A bigint, which the driver returns as text. */
  last_used_step: string | null
  last_challenged_at: Date | null
  created_at: Date
  updated_at: Date
}
const COLUMNS = `id, friendly_name, factor_type, status, phone, secret, last_used_step, last_challenged_at, created_at,
  updated_at`

/** Stores second factors. Callers that add, verify or remove one must have locked the user's row, so that counts and names stay valid. */
export class FactorStore {
  constructor(private readonly t: Tables) {}

  /** Every finder takes the user: another user's factor cannot be read by its id alone. */
  async find(db: Queryable, userId: string, id: string): Promise<StoredFactor | null> {
    const { rows } = await db.query<Row>(
      `select ${COLUMNS} from ${this.t.mfaFactors} where user_id = $1 and id = $2`,
      [userId, id],
    )
    return rows[0] ? toFactor(rows[0]) : null
  }

  async insert(tx: Tx, factor: NewFactor, now: Date): Promise<void> {
    await tx.query(
      `insert into ${this.t.mfaFactors} (id, user_id, friendly_name, factor_type, status, secret, phone, created_at,
         updated_at) values ($1, $2, $3, $4, 'unverified', $5, $6, $7, $7)`,
      [factor.id, factor.userId, factor.friendlyName, factor.factorType, factor.secret, factor.phone, now],
    )
  }

  /** Deletes unfinished enrollments with the same name or number as the factor being named. */
  async makeWay(
    tx: Tx,
    userId: string,
    { id, friendlyName, phone }: Pick<Factor, 'id' | 'friendlyName' | 'phone'>,
  ): Promise<void> {
    await tx.query(
      `delete from ${this.t.mfaFactors}
       where user_id = $1 and status = 'unverified' and id <> $2 and (friendly_name = $3 or phone = $4)`,
      [userId, id, friendlyName, phone],
    )
  }

  /** Deletes unfinished factors, the oldest first, until the user has at most `most` factors. Verified ones stay. */
  async dropUnfinished(tx: Tx, userId: string, most: number): Promise<void> {
    await tx.query(
      `delete from ${this.t.mfaFactors} where status = 'unverified' and id in (
         select id from ${this.t.mfaFactors} where user_id = $1
         order by (status = 'verified') desc, created_at desc, id offset $2)`,
      [userId, most],
    )
  }

  /** Once one factor of a type is verified, unfinished enrollments of that type are useless. */
  async removeOtherUnverified(tx: Tx, userId: string, { id, factorType }: Factor): Promise<void> {
    await tx.query(
      `delete from ${this.t.mfaFactors}
       where user_id = $1 and factor_type = $2 and status = 'unverified' and id <> $3`,
      [userId, factorType, id],
    )
  }

  /** Removes a factor. Recovery codes stand in for a verified factor, so they are removed with the last one. */
  async remove(tx: Tx, id: string): Promise<void> {
    await tx.query(
      `with removed as (delete from ${this.t.mfaFactors} where id = $1 returning user_id)
       delete from ${this.t.mfaRecoveryCodes} c using removed r
       where c.user_id = r.user_id and not exists (
         select from ${this.t.mfaFactors} o where o.user_id = r.user_id and o.status = 'verified' and o.id <> $1)`,
      [id],
    )
  }

  async update(
    tx: Tx,
    id: string,
    changes: { friendlyName: string; phone: string | null },
    now: Date,
  ): Promise<void> {
    await tx.query(
      `update ${this.t.mfaFactors} set friendly_name = $2, phone = $3, updated_at = $4 where id = $1`,
      [id, changes.friendlyName, changes.phone, now],
    )
  }

  /** `usedStep` is the TOTP time step that was accepted; null for other factors. */
  async markVerified(tx: Tx, id: string, usedStep: number | null, now: Date): Promise<void> {
    await tx.query(
      `update ${this.t.mfaFactors}
       set status = 'verified', last_used_step = coalesce($2, last_used_step), updated_at = $3 where id = $1`,
      [id, usedStep, now],
    )
  }

  /** Stamps a challenge, unless the last one came after `lastBefore`: of two concurrent requests only one succeeds. */
  async stampChallenge(db: Queryable, id: string, lastBefore: Date | null, now: Date): Promise<boolean> {
    const { rowCount } = await db.query(
      `update ${this.t.mfaFactors} set last_challenged_at = $3, updated_at = $3
       where id = $1 and (last_challenged_at is null or $2::timestamptz is null or last_challenged_at <= $2)`,
      [id, lastBefore, now],
    )
    return rowCount === 1
  }

  /** Takes back the stamp of a challenge whose code was never delivered, unless a newer one has replaced it. */
  async restoreStamp(db: Queryable, id: string, stamped: Date, previous: Date | null): Promise<void> {
    await db.query(
      `update ${this.t.mfaFactors} set last_challenged_at = $3 where id = $1 and last_challenged_at = $2`,
      [id, stamped, previous],
    )
  }
}

function toFactor(row: Row): StoredFactor {
  return {
    id: row.id,
    friendlyName: row.friendly_name,
    factorType: row.factor_type,
    status: row.status,
    phone: row.phone,
    secret: row.secret,
    lastUsedStep: row.last_used_step === null ? null : Number(row.last_used_step),
    lastChallengedAt: row.last_challenged_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
