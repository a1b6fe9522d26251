import type { Queryable, Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { Tables } from '../database/tables.js'
import { deleteCodesOfLinks, mailMethods } from '../flows/flow-store.js'
import { CHANGE_TOKENS } from './pending-change-store.js'
import { UserLockStore } from './user-lock-store.js'
import { accountColumn, toUser, type AccountRow } from './user-rows.js'
import type { StorableMetadata } from './storable-metadata.js'
import type { User } from './user.js'

export type NewUser = {
  id: string
  aud: string
  role: string
  email: string | null
  phone: string | null
  passwordHash: string | null
  metadata: StorableMetadata
  isAnonymous: boolean
}

type Fixed = 'id' | 'createdAt' | 'updatedAt' | 'identities' | 'factors' | 'isSsoUser'
type Metadata = 'userMetadata' | 'appMetadata'
/** Columns that say who owns the account. */
export type AddressChanges = Partial<Pick<User, 'email' | 'phone' | 'emailConfirmedAt' | 'phoneConfirmedAt'>>
/** All other columns that may change after creation. Undefined members are left unchanged. */
export type UserChanges = Partial<Omit<User, Fixed | Metadata | keyof AddressChanges>> & {
  metadata?: StorableMetadata
}
type Changes = UserChanges & AddressChanges

const COLUMNS: Readonly<Record<Exclude<keyof Changes, 'metadata'> | Metadata, string>> = {
  aud: 'aud',
  role: 'role',
  email: 'email',
  phone: 'phone',
  passwordHash: 'encrypted_password',
  emailConfirmedAt: 'email_confirmed_at',
  phoneConfirmedAt: 'phone_confirmed_at',
  invitedAt: 'invited_at',
  confirmationSentAt: 'confirmation_sent_at',
  recoverySentAt: 'recovery_sent_at',
  newEmail: 'email_change',
  emailChangeSentAt: 'email_change_sent_at',
  emailChangeConfirmStatus: 'email_change_confirm_status',
  newPhone: 'phone_change',
  phoneChangeSentAt: 'phone_change_sent_at',
  reauthenticationSentAt: 'reauthentication_sent_at',
  lastSignInAt: 'last_sign_in_at',
  appMetadata: 'app_metadata',
  userMetadata: 'user_metadata',
  isAnonymous: 'is_anonymous',
  bannedUntil: 'banned_until',
  deletedAt: 'deleted_at',
  deletionDueAt: 'deletion_due_at',
}

export type SentAt =
  | 'confirmationSentAt'
  | 'recoverySentAt'
  | 'emailChangeSentAt'
  | 'phoneChangeSentAt'
  | 'reauthenticationSentAt'

/** When one of these changes, or a row is deleted, a trigger writes an account event. */
const REPORTED = ['bannedUntil', 'deletedAt'] as const satisfies (keyof UserChanges)[]

/** The columns of a user who has no pending change of this kind of address. */
const NO_CHANGE = {
  email: { newEmail: null, emailChangeConfirmStatus: 0 },
  phone: { newPhone: null },
} as const satisfies Record<Address['kind'], Changes>

export class UserStore {
  readonly #select: string
  readonly #locks: UserLockStore

  constructor(
    private readonly t: Tables,
    private readonly accountEvents: { written(db: Queryable | Tx): void },
  ) {
    this.#locks = new UserLockStore(t)
    this.#select = `select ${accountColumn(t)} from ${t.users} u`
  }

  findById(db: Queryable, id: string): Promise<User | null> {
    return this.#find(db, 'user_by_id', 'u.id = $1', [id])
  }

  /** `email` in its stored, lower-case form. */
  findByEmail(db: Queryable, email: string): Promise<User | null> {
    return this.#find(db, 'user_by_email', 'lower(u.email) = $1 and not u.is_sso_user', [email])
  }

  findByPhone(db: Queryable, phone: string): Promise<User | null> {
    return this.#find(db, 'user_by_phone', 'u.phone = $1', [phone])
  }

  findByAddress(db: Queryable, { kind, value }: Address): Promise<User | null> {
    return kind === 'email' ? this.findByEmail(db, value) : this.findByPhone(db, value)
  }

  /**
   * Locks the row for the rest of the transaction, and reads it afterwards. Waiting for a lock only refreshes the row itself, but the lists
   * of identities and factors must be just as current.
   */
  async lockById(tx: Tx, id: string): Promise<User | null> {
    await this.#locks.take(tx, [id])
    return this.findById(tx, id)
  }

  /** The user of an address, locked. Searches again if the user lost the address to someone else while this waited for the lock. */
  async lockByAddress(tx: Tx, address: Address): Promise<User | null> {
    for (;;) {
      const found = await this.findByAddress(tx, address)
      const user = found && (await this.lockById(tx, found.id))
      if (found === null || user?.[address.kind] === address.value) return user
    }
  }

  /** Locks the rows of several users for the rest of the transaction. */
  async lockAll(tx: Tx, ids: readonly string[]): Promise<void> {
    await this.#locks.take(tx, ids)
  }

  /** A user whose deletion is due, without a lock; null if there is none. */
  async findDueForDeletion(db: Queryable, now: Date, except: readonly string[]): Promise<string | null> {
    const { rows } = await db.query<{ id: string }>(
      `select id from ${this.t.users}
       where deletion_due_at <= $1 and deleted_at is null and id <> all($2::uuid[])
       order by deletion_due_at limit 1`,
      [now, except],
    )
    return rows[0]?.id ?? null
  }

  /** Locks a user whose deletion is due. Null if the row is locked or gone, or the owner has kept the account. */
  async lockDueForDeletion(tx: Tx, id: string, now: Date): Promise<User | null> {
    const { rows } = await tx.query(
      `select 1 as found from ${this.t.users} where id = $1 and deletion_due_at <= $2 and deleted_at is null
       for update skip locked`,
      [id, now],
    )
    return rows.length === 0 ? null : this.findById(tx, id)
  }

  /** False if the id or the address is taken. */
  async insert(tx: Tx, user: NewUser, now: Date): Promise<boolean> {
    const { rowCount } = await tx.query(
      `insert into ${this.t.users} (id, aud, role, email, phone, encrypted_password, app_metadata, user_metadata,
         is_anonymous, created_at, updated_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) on conflict do nothing`,
      [
        user.id,
        user.aud,
        user.role,
        user.email,
        user.phone,
        user.passwordHash,
        JSON.stringify(user.metadata.appMetadata),
        JSON.stringify(user.metadata.userMetadata),
        user.isAnonymous,
        now,
      ],
    )
    return rowCount === 1
  }

  /** Sets the given columns, and `updated_at`. */
  update(db: Queryable, id: string, changes: UserChanges, now: Date): Promise<void> {
    return this.#set(db, id, changes, now)
  }

  /**
   * The same as {@link update}, but may also change addresses and their confirmation. Only the classes in `proofs` and the erasure of a
   * user may call it, because someone who only claimed the account has to lose it before it gets a new address.
   */
  updateAddresses(db: Queryable, id: string, changes: Changes, now: Date): Promise<void> {
    return this.#set(db, id, changes, now)
  }

  /**
   * A new address of one kind voids a pending change of that kind, because it was begun, and perhaps half confirmed, with the former
   * address. It also voids codes from links in the former mailbox.
   */
  async #set(db: Queryable, id: string, { metadata, ...given }: Changes, now: Date): Promise<void> {
    const voided = (['email', 'phone'] as const).filter((kind) => given[kind] !== undefined)
    const changes = {
      ...(voided.includes('email') && NO_CHANGE.email),
      ...(voided.includes('phone') && NO_CHANGE.phone),
      ...given,
      ...(metadata && { userMetadata: metadata.userMetadata, appMetadata: metadata.appMetadata }),
    }
    const entries = Object.entries(changes).filter(([, value]) => value !== undefined)
    const assignments = entries.map(
      ([key], index) => `${COLUMNS[key as keyof typeof COLUMNS]} = $${index + 3}`,
    )
    const values = entries.map(([, value]) =>
      typeof value === 'object' && value !== null && !(value instanceof Date) ? JSON.stringify(value) : value,
    )
    const update = `update ${this.t.users} set ${['updated_at = $2', ...assignments].join(', ')} where id = $1`
    if (voided.length === 0) await db.query(update, [id, now, ...values])
    else {
      const tokens = voided.flatMap((kind) => CHANGE_TOKENS[kind === 'email' ? 'newEmail' : 'newPhone'])
      const codes = deleteCodesOfLinks(this.t, { user: '$1', methods: `$${values.length + 4}` })
      await db.query(
        `with voided as (
           delete from ${this.t.oneTimeTokens} where user_id = $1 and token_type = any($${values.length + 3})),
         codes as (${codes})
         ${update}`,
        [id, now, ...values, tokens, voided.includes('email') ? mailMethods : []],
      )
    }
    if (REPORTED.some((key) => changes[key] !== undefined)) this.accountEvents.written(db)
  }

  /** Stores a new hash of the same password, unless the password changed in the meantime. */
  async rehash(db: Queryable, id: string, oldHash: string, newHash: string): Promise<void> {
    await db.query(
      `update ${this.t.users} set encrypted_password = $3 where id = $1 and encrypted_password = $2`,
      [id, oldHash, newHash],
    )
  }

  /** Resets a sent-at timestamp whose message was never delivered, unless a newer one replaced it. */
  async clearSentAt(db: Queryable, id: string, slot: SentAt, sentAt: Date): Promise<void> {
    const column = COLUMNS[slot]
    await db.query(`update ${this.t.users} set ${column} = null where id = $1 and ${column} = $2`, [
      id,
      sentAt,
    ])
  }

  async remove(tx: Tx, id: string): Promise<void> {
    await tx.query(`delete from ${this.t.users} where id = $1`, [id])
    this.accountEvents.written(tx)
  }

  /**
   * Removes a user whose address is unproven and who has no pending message, sign-up or identity of a provider. This statement comes after
   * the one that locks the row, so that it sees what was added while that one waited.
   */
  async removeIfAbandoned(tx: Tx, id: string): Promise<void> {
    const { rowCount } = await tx.query(
      `delete from ${this.t.users} u
       where id = $1 and confirmed_at is null and last_sign_in_at is null and not is_anonymous and deleted_at is null
         and not exists (select 1 from ${this.t.oneTimeTokens} where user_id = u.id)
         and not exists (select 1 from ${this.t.pendingSignUps} where user_id = u.id)
         and not exists (
           select 1 from ${this.t.identities} where user_id = u.id and provider not in ('email', 'phone'))`,
      [id],
    )
    if (rowCount !== 0) this.accountEvents.written(tx)
  }

  /** Removes passkeys, second factors, and the recovery codes that stand in for them. */
  async removeAuthenticators(tx: Tx, id: string): Promise<void> {
    await tx.query(
      `with codes as (delete from ${this.t.mfaRecoveryCodes} where user_id = $1),
         passkeys as (delete from ${this.t.webauthnCredentials} where user_id = $1 and factor_id is null)
       delete from ${this.t.mfaFactors} where user_id = $1`,
      [id],
    )
  }

  async #find(db: Queryable, name: string, where: string, values: unknown[]): Promise<User | null> {
    const { rows } = await db.query<AccountRow>({ name, text: `${this.#select} where ${where}` }, values)
    return rows[0] ? toUser(rows[0]) : null
  }
}
