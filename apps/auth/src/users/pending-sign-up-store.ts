import type { Queryable, Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { Tables } from '../database/tables.js'
import type { JsonObject } from './user.js'

/** The data of a sign-up for an address that is not proven yet. */
export type PendingSignUp = {
  readonly id: string
  readonly userId: string
  /** Who made it: a user, or an administrator, whose data applies no matter how the address is proven. */
  readonly origin: 'self' | 'administrator'
  /** The audience that tokens of the account would have; null for the default. */
  readonly aud: string | null
  readonly passwordHash: string | null
  /** The kind of address that the password belongs to, or that an administrator named; left out for any address of the account. */
  readonly addressKind?: Address['kind'] | undefined
  readonly userMetadata: JsonObject
  /** The account at a provider that came with it. */
  readonly identityId: string | null
  /** The client that signed up, hashed; left out for administrators. */
  readonly requestedBy?: Buffer | undefined
}

type Row = {
  id: string
  user_id: string
  origin: PendingSignUp['origin']
  aud: string | null
  password_hash: string | null
  user_metadata: JsonObject
  identity_id: string | null
  address_kind: Address['kind'] | null
}
const COLUMNS = 'id, user_id, origin, aud, password_hash, user_metadata, identity_id, address_kind'

export class PendingSignUpStore {
  constructor(private readonly t: Tables) {}

  /** Inserts a sign-up. If an account has several, they are contested, no matter who made them and which one is removed first. */
  async insert(tx: Tx, signUp: PendingSignUp, now: Date): Promise<void> {
    await tx.query(
      `with others as (update ${this.t.pendingSignUps} set contested = true where user_id = $2 and origin = 'self')
       insert into ${this.t.pendingSignUps}
         (id, user_id, origin, password_hash, user_metadata, identity_id, created_at, address_kind, requested_by, aud, contested)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $3 = 'self' and exists (
         select 1 from ${this.t.pendingSignUps} where user_id = $2))`,
      [
        signUp.id,
        signUp.userId,
        signUp.origin,
        signUp.passwordHash,
        JSON.stringify(signUp.userMetadata),
        signUp.identityId,
        now,
        signUp.addressKind ?? null,
        signUp.requestedBy ?? null,
        signUp.aud,
      ],
    )
  }

  async updateAdministrators(
    tx: Tx,
    userId: string,
    {
      passwordHash,
      userMetadata,
      addressKind,
    }: Pick<PendingSignUp, 'passwordHash' | 'userMetadata' | 'addressKind'>,
  ): Promise<void> {
    await tx.query(
      `update ${this.t.pendingSignUps} set password_hash = $2, user_metadata = $3, address_kind = $4
       where user_id = $1 and origin = 'administrator'`,
      [userId, passwordHash, JSON.stringify(userMetadata), addressKind ?? null],
    )
  }

  async find(db: Queryable, id: string): Promise<PendingSignUp | null> {
    const { rows } = await db.query<Row>(`select ${COLUMNS} from ${this.t.pendingSignUps} where id = $1`, [
      id,
    ])
    return rows[0] ? toSignUp(rows[0]) : null
  }

  async findAdministrators(db: Queryable, userId: string): Promise<PendingSignUp | null> {
    const { rows } = await db.query<Row>(
      `select ${COLUMNS} from ${this.t.pendingSignUps} where user_id = $1 and origin = 'administrator'`,
      [userId],
    )
    return rows[0] ? toSignUp(rows[0]) : null
  }

  async findByIdentity(db: Queryable, identityId: string): Promise<string | null> {
    const { rows } = await db.query<{ id: string }>(
      `select id from ${this.t.pendingSignUps} where identity_id = $1`,
      [identityId],
    )
    return rows[0]?.id ?? null
  }

  /**
   * The sign-up whose confirmation this client wants again. Null if it may not be the client's own: someone else may have signed up with
   * the address too, or the owner may be asking from another network. The owner must not complete a stranger's sign-up.
   */
  async findOwn(db: Queryable, userId: string, requestedBy: Buffer): Promise<string | null> {
    const { rows } = await db.query<{ id: string }>(
      `select id from ${this.t.pendingSignUps}
       where user_id = $1 and origin = 'self' and not contested and requested_by = $2`,
      [userId, requestedBy],
    )
    return rows[0]?.id ?? null
  }

  /** Whether the account has had another sign-up, before or after this one. */
  async isContested(db: Queryable, id: string): Promise<boolean> {
    const { rows } = await db.query<{ contested: boolean }>(
      `select contested from ${this.t.pendingSignUps} where id = $1`,
      [id],
    )
    return rows[0]?.contested === true
  }

  /**
   * Records that someone else tried to sign up with the address. This is one small statement, because it must take the same time whether or
   * not the address has an account.
   */
  async contest(db: Queryable, { kind, value }: Address): Promise<void> {
    const account = kind === 'email' ? 'lower(email) = $1 and not is_sso_user' : 'phone = $1'
    await db.query(
      `update ${this.t.pendingSignUps} set contested = true
       where origin = 'self' and user_id = (select id from ${this.t.users} where ${account})`,
      [value],
    )
  }

  /**
   * Keeps `count` sign-ups of each address with a password and `count` without one, together with their tokens. The clients that have sent
   * most lose theirs first, so that many sign-ups of one client never push out the only one of another. `newest` stays, even if others have
   * the same time.
   */
  async keepNewest(tx: Tx, userId: string, newest: string, count: number): Promise<void> {
    await tx.query(
      `delete from ${this.t.pendingSignUps} where id in (
         select id from (
           select id, row_number() over (
             partition by address_kind, password_hash is null order by newer_of_client, id = $3 desc, created_at desc, id desc) as place
           from (
             select id, address_kind, password_hash, created_at, row_number() over (
               partition by address_kind, password_hash is null, requested_by
               order by id = $3 desc, created_at desc, id desc) as newer_of_client
             from ${this.t.pendingSignUps} where user_id = $1 and origin = 'self') of_clients) numbered
         where place > $2)`,
      [userId, count, newest],
    )
  }

  async remove(db: Queryable, id: string): Promise<void> {
    await db.query(`delete from ${this.t.pendingSignUps} where id = $1`, [id])
  }

  /** Removes everything that did not come from an administrator. */
  async removeUnvouched(tx: Tx, userId: string): Promise<void> {
    await tx.query(`delete from ${this.t.pendingSignUps} where user_id = $1 and origin = 'self'`, [userId])
  }

  async removeAll(db: Queryable, userId: string): Promise<void> {
    await db.query(`delete from ${this.t.pendingSignUps} where user_id = $1`, [userId])
  }
}

function toSignUp(row: Row): PendingSignUp {
  return {
    id: row.id,
    userId: row.user_id,
    origin: row.origin,
    aud: row.aud,
    passwordHash: row.password_hash,
    userMetadata: row.user_metadata,
    identityId: row.identity_id,
    addressKind: row.address_kind ?? undefined,
  }
}

/** Whether an administrator said that the account's address of this kind belongs to its owner. */
export const isVouched = (administrators: PendingSignUp | null, kind: Address['kind']): boolean =>
  administrators !== null && (administrators.addressKind ?? kind) === kind
