import { isUnavailable, type DatabaseClock, type Db, type Tx } from '@signet/db'
import { isAppError, type AppError } from '@signet/errors'
import type { Address } from '../addresses/address.js'
import { traitsOf } from '../administrators/admin-acts.js'
import type { Audit, AuditLog } from '../audit/audit-log.js'
import { authError } from '../errors/auth-error.js'
import type { Mailer } from '../mail/mailer.js'
import type { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import { authorized } from '../hash-callers/known-callers.js'
import type { PasswordHasher } from '../passwords/password-hasher.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { SessionBoundsStore } from '../sessions/session-bounds-store.js'
import { recordCancelled, type SessionEnds } from '../sessions/session-ends.js'
import { requireStrong, type SessionGate } from '../sessions/session-gate.js'
import type { Live } from '../sessions/session.js'
import type { Guesses } from '../sign-in/guesses.js'
import type { UserStore } from '../users/user-store.js'
import { isProven, type User } from '../users/user.js'
import { badNonce, type PasswordChanges } from './password-change.js'

export type DeletionRules = {
  /** How long the owner may change their mind; 0 deletes at once. */
  graceMs: number
  /** The page on which the owner can keep the account. */
  keepUrl: string
}

/** What the owner has to prove again before the account is deleted. A guest has nothing but the session. */
export type DeletionProof = 'password' | 'nonce' | 'none'

type Deps = {
  db: Db
  users: UserStore
  tokens: OneTimeTokenStore
  gate: SessionGate
  ends: SessionEnds
  bounds: SessionBoundsStore
  guesses: Guesses
  passwords: Pick<PasswordChanges, 'isRightNonce'>
  hasher: PasswordHasher
  audit: AuditLog
  mailer: Mailer
  rules: DeletionRules
  now: () => Date
  /** The database's clock decides when an account is deleted, because a deletion cannot be undone. */
  databaseNow: DatabaseClock
}

/** Asks to end after the batch in progress. */
export type StopSignal = Pick<AbortSignal, 'aborted'>

/** How audit entries and messages name the clean-up. */
const CLEANUP: MessageOrigin = { requestId: '', route: '', ip: '' }
const SERVICE = { service: 'account deletion' } as const

/** Deletes accounts for their owners (docs/specification.md#deletion-by-the-owner). */
export class AccountDeletionService {
  constructor(private readonly deps: Deps) {}

  proofOf(user: User): DeletionProof {
    if (user.passwordHash !== null) return 'password'
    return isProven(user) ? 'nonce' : 'none'
  }

  /** Signs out everywhere and returns when the account will be deleted; null if it is deleted already. */
  async request(
    caller: Live,
    proof: { password: string; nonce: string },
    meta: RequestMeta,
  ): Promise<Date | null> {
    const { audit, gate } = this.deps
    const { user: asking } = caller
    const kind = this.proofOf(asking)
    if (kind === 'password') await this.#checkPassword(caller, proof.password, meta)
    if (this.deps.rules.graceMs === 0) {
      await audit.transaction(meta, async (tx) =>
        requireStrong(await gate.hold(tx, { userId: asking.id, sessionId: caller.session.id })),
      )
      await this.#removeEndedSessions(asking.id, meta.signal)
    }
    // A wrong nonce must stay counted, so the transaction returns the error instead of throwing it.
    const outcome = await audit.transaction<Date | null | AppError>(meta, async (tx, record) => {
      const held = await gate.hold(tx, { userId: asking.id, sessionId: caller.session.id })
      requireStrong(held)
      const { user } = held
      // The password was compared before the lock, and may have changed since.
      if (user.passwordHash !== asking.passwordHash || this.proofOf(user) !== kind) return wrongPassword()
      if (kind === 'nonce' && !(await this.deps.passwords.isRightNonce(tx, record, user, proof.nonce)))
        return badNonce()
      record('user_deletion_requested', user)
      return this.#begin(tx, record, user, meta)
    })
    if (isAppError(outcome)) throw outcome
    return outcome
  }

  /** Cancels the deletion, and signs out everyone else who signed in meanwhile. They were only offered to keep the account. */
  async keep(caller: Live, meta: RequestMeta): Promise<void> {
    const { audit, gate, users, ends, now } = this.deps
    await audit.transaction(meta, async (tx, record) => {
      const { user, session } = caller
      const ids = { userId: user.id, sessionId: session.id }
      const held = await gate.hold(tx, ids, { whilePending: true })
      requireStrong(held)
      if (held.user.deletionDueAt === null) return
      await users.update(tx, user.id, { deletionDueAt: null }, now())
      const ended = await ends.others(tx, user.id, session.id, 'deletion_requested')
      record('user_deletion_cancelled', held.user)
      recordCancelled(record, held.user, ended)
    })
  }

  /**
   * Deletes the accounts that are due, each in its own transaction, until `stop` is aborted. Returns how many it deleted. An account that
   * cannot be deleted is reported and does not hold up the others.
   */
  async finish(stop: StopSignal, failed: (error: Error) => void): Promise<number> {
    const { db, users, databaseNow } = this.deps
    const left: string[] = []
    let deleted = 0
    while (!stop.aborted) {
      const id = await users.findDueForDeletion(db, await databaseNow(db), left)
      if (id === null) break
      try {
        if (await this.#finishOne(id, stop)) deleted += 1
        else left.push(id)
      } catch (error) {
        if (isUnavailable(error)) throw error
        failed(new Error(`the account ${id} could not be deleted`, { cause: error }))
        left.push(id)
      }
    }
    return deleted
  }

  async #finishOne(id: string, stop: StopSignal): Promise<boolean> {
    const { audit, users, databaseNow } = this.deps
    await this.#removeEndedSessions(id, stop)
    if (stop.aborted) return false
    return audit.transaction(CLEANUP, async (tx, record) => {
      const user = await users.lockDueForDeletion(tx, id, await databaseNow(tx))
      if (user === null) return false
      record('user_deleted', SERVICE, traitsOf(user))
      await this.#remove(tx, user, CLEANUP)
      return true
    })
  }

  async #begin(tx: Tx, record: Audit, user: User, meta: RequestMeta): Promise<Date | null> {
    const { users, tokens, ends, mailer, rules, now, databaseNow } = this.deps
    if (rules.graceMs === 0) {
      await this.#remove(tx, user, meta)
      return null
    }
    const dueAt = new Date((await databaseNow(tx)).getTime() + rules.graceMs)
    await users.update(tx, user.id, { deletionDueAt: dueAt }, now())
    // Spends the nonce, and voids links that were sent before.
    await tokens.removeAll(tx, user.id)
    recordCancelled(record, user, await ends.all(tx, user.id, 'deletion_requested'))
    const to = user.email ?? ''
    const deletionDate = dueAt.toISOString()
    const variables = { email: to, deletionDate, confirmationUrl: rules.keepUrl, data: user.userMetadata }
    await mailer.notify(tx, { kind: 'account_deletion_requested_notification', to, variables }, meta)
    return dueAt
  }

  /** Runs before the transaction that deletes the account, because there may be too many sessions for one statement. */
  async #removeEndedSessions(userId: string, stop?: StopSignal): Promise<void> {
    const { db, bounds } = this.deps
    while (!stop?.aborted && (await bounds.removeEnded(db, userId)));
  }

  async #remove(tx: Tx, user: User, meta: MessageOrigin): Promise<void> {
    const { users, mailer } = this.deps
    await users.remove(tx, user.id)
    const to = user.email ?? ''
    const variables = { email: to, data: user.userMetadata }
    await mailer.notify(tx, { kind: 'account_deleted_notification', to, variables }, meta)
  }

  /** The answer reveals whether a password is right, so it counts as a guess. */
  async #checkPassword(caller: Live, password: string, meta: RequestMeta) {
    const { user } = caller
    const { guesses, hasher, audit } = this.deps
    const { email, phone, passwordHash } = user
    const address: Address =
      email === null ? { kind: 'phone', value: phone ?? '' } : { kind: 'email', value: email }
    const attempt = await guesses.begin(address, meta)
    const isRight = await attempt.check(() =>
      hasher.verify(passwordHash ?? '', password, authorized(caller, meta)),
    )
    if (!isRight) {
      await audit.record(meta, 'login_failed', user, { provider: address.kind, reason: 'wrong_password' })
      throw wrongPassword()
    }
    await attempt.takeBack()
  }
}

const wrongPassword = () => authError('invalid', 'current_password_invalid', 'Current password is incorrect.')
