import type { KeyObject } from 'node:crypto'
import type { Db, Tx } from '@signet/db'
import { isAppError, type AppError } from '@signet/errors'
import type { AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import type { ErrorCode } from '../errors/error-codes.js'
import { TOO_MANY, type FailedProofs } from '../failed-proofs/failed-proofs.js'
import type { Mailer } from '../mail/mailer.js'
import type { NoticeKind } from '../mail/kinds.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { SessionEnds } from '../sessions/session-ends.js'
import type { SessionGate } from '../sessions/session-gate.js'
import type { SessionService } from '../sessions/session-service.js'
import type { Held, Live, SignedIn } from '../sessions/session.js'
import type { Guesses } from '../sign-in/guesses.js'
import { hasVerifiedFactor, type User } from '../users/user.js'
import { noRecoveryCodes, orRefusal } from './factor-rules.js'
import { newRecoveryCode, plainRecoveryCode, RECOVERY_CODES } from './recovery-codes.js'
import type { RecoveryCodeCount, RecoveryCodeStore } from './recovery-code-store.js'
import { RECOVERY_CODE, type SessionLevelStore } from './session-level-store.js'

type Deps = {
  db: Db
  store: RecoveryCodeStore
  sessions: SessionService
  gate: SessionGate
  ends: SessionEnds
  levels: SessionLevelStore
  guesses: Guesses
  failed: FailedProofs
  audit: AuditLog
  mailer: Mailer
  key: KeyObject
  now: () => Date
}

/** Which set may be made: the first one only, one that replaces another, or either. */
export type MadeCodes = 'first' | 'another' | 'any'

/** Codes on paper for people who lost their second factor (docs/specification.md#recovery-codes, decision 0204). */
export class RecoveryCodeService {
  constructor(private readonly deps: Deps) {}

  count(userId: string): Promise<RecoveryCodeCount | null> {
    return this.deps.store.count(this.deps.db, userId)
  }

  /** Creates a new set, which replaces the previous one, if there may be one. The codes are returned only here. */
  async replace(caller: Live, meta: RequestMeta, set: MadeCodes = 'any'): Promise<string[]> {
    const { gate, store, guesses, audit, now } = this.deps
    const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode)
    await audit.transaction(meta, async (tx, record) => {
      const { user, session } = await gate.hold(tx, idsOf(caller))
      requireFactor(user, set === 'first' ? 'mfa_recovery_codes_sole_factor' : 'mfa_factor_not_found')
      if (session.aal !== 'aal2') throw insufficientAal('make')
      if (set !== 'any') requireSet(await store.count(tx, user.id), set)
      await store.replace(
        tx,
        user.id,
        codes.map((code) => this.#hashOf(user.id, code)),
        now(),
      )
      // Guesses at the previous codes must not keep the owner from using the new ones.
      await guesses.forgetFactor(tx, guessedAt(user))
      record('recovery_codes_created', user)
      await this.#notify(tx, 'mfa_recovery_codes_created_notification', user, codes.length, meta)
    })
    return codes
  }

  /** Removes all codes. Sessions that they raised keep their level. */
  async remove(caller: Live, meta: RequestMeta): Promise<void> {
    const { gate, store, audit } = this.deps
    await audit.transaction(meta, async (tx, record) => {
      const { user, session } = await gate.hold(tx, idsOf(caller))
      if (session.aal !== 'aal2') throw insufficientAal('remove')
      if ((await store.count(tx, user.id)) === null) throw noRecoveryCodes()
      await store.removeAll(tx, user.id)
      record('recovery_codes_deleted', user)
    })
  }

  /** Raises the session as a factor does. */
  async verify(caller: Live, typed: string, meta: RequestMeta): Promise<SignedIn> {
    const code = plainRecoveryCode(typed)
    if (code === '') throw invalid('Code needs to be non-empty')
    const { gate, store, guesses, failed, audit, now } = this.deps
    // A wrong code must stay counted, so the transaction returns the error instead of throwing it.
    const outcome = await audit.transaction(meta, async (tx, record) => {
      const held = await gate.hold(tx, idsOf(caller), { whilePending: true })
      const { user } = held
      requireFactor(user)
      const attempt = await orRefusal(guesses.beginFactor(tx, guessedAt(user)))
      if (isAppError(attempt)) {
        if (await failed.isFirstRefusal(tx, 'recovery codes', user.id))
          record('recovery_code_attempted', user, { accepted: false, reason: TOO_MANY })
        return locked(attempt)
      }
      const left = await store.spend(tx, user.id, this.#hashOf(user.id, code), now())
      if (left === null) {
        record('recovery_code_attempted', user, { accepted: false, reason: 'wrong_code' })
        return authError(
          'unprocessable',
          'mfa_verification_failed',
          'This recovery code is wrong or was used',
        )
      }
      record('recovery_code_attempted', user, { accepted: true })
      await attempt.takeBack()
      await this.#notify(tx, 'mfa_recovery_code_used_notification', user, left, meta)
      return this.#raise(tx, held)
    })
    if (isAppError(outcome)) throw outcome
    return outcome
  }

  async #raise(tx: Tx, held: Held): Promise<SignedIn> {
    const { levels, ends, sessions, now } = this.deps
    const { user, session } = held
    await levels.upgrade(tx, held, { factorId: null, method: RECOVERY_CODE, isNew: false }, now())
    await ends.weaker(tx, user.id, session.id, 'factor_verified')
    return sessions.resume(tx, held)
  }

  #notify(tx: Tx, kind: NoticeKind, user: User, left: number, meta: RequestMeta): Promise<void> {
    const email = user.email ?? ''
    const variables = { email, recoveryCodesLeft: String(left), data: user.userMetadata }
    return this.deps.mailer.notify(tx, { kind, to: email, variables }, meta)
  }

  #hashOf(userId: string, code: string): Buffer {
    return keyedHash(this.deps.key, 'recovery code', userId, plainRecoveryCode(code))
  }
}

const idsOf = ({ user, session }: Live) => ({ userId: user.id, sessionId: session.id })

function requireFactor(user: User, code: ErrorCode = 'mfa_factor_not_found'): void {
  if (!hasVerifiedFactor(user))
    throw authError('unprocessable', code, 'Recovery codes are for accounts with a verified factor')
}

/** The public client has one operation for the first set and one for another. */
function requireSet(count: RecoveryCodeCount | null, set: 'first' | 'another'): void {
  if (set === 'another' && count === null) throw noRecoveryCodes()
  if (set === 'first' && count !== null)
    throw authError(
      'unprocessable',
      'mfa_verified_factor_exists',
      'There are recovery codes, replace them instead',
    )
}

const guessedAt = ({ id }: User): string => `recovery codes of ${id}`

/** The same refusal with the code of the public client. */
const locked = ({ kind, message, retryAfterSeconds }: AppError): AppError =>
  authError(kind, 'mfa_recovery_codes_locked', message, {
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })

const insufficientAal = (what: 'make' | 'remove') =>
  authError('forbidden', 'insufficient_aal', `AAL2 required to ${what} recovery codes`)
