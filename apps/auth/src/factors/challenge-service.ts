import { randomUUID, type KeyObject } from 'node:crypto'
import { type Db, type Tx } from '@signet/db'
import { isAppError, type AppError } from '@signet/errors'
import { type Address } from '../addresses/address.js'
import { type AuditLog } from '../audit/audit-log.js'
import { authError, invalid, tooSoon } from '../errors/auth-error.js'
import { type Mailer } from '../mail/mailer.js'
import { randomDigits, sameHash } from '../one-time-tokens/one-time-token.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { keyedHash } from '../secrets/derived-keys.js'
import { unseal } from '../secrets/sealed-box.js'
import { type RefreshTokens } from '../sessions/refresh-token.js'
import { type SessionStore } from '../sessions/session-store.js'
import { type SignedIn } from '../sessions/session.js'
import { smsChannelOf } from '../sign-up/sms-channel.js'
import { type SmsSender } from '../sms/sms-sender.js'
import { type UserStore } from '../users/user-store.js'
import { type User } from '../users/user.js'
import { isUuid } from '../users/uuid.js'
import { type Challenge, type ChallengeStore } from './challenge-store.js'
import { type FactorCaller } from './enrollment-service.js'
import { factorNotFound, factorTraits, needsFactorFirst, type FactorRules } from './factor-rules.js'
import { type FactorStore, type StoredFactor } from './factor-store.js'
import { FACTOR_METHODS, type SessionLevelStore } from './session-level-store.js'
import { matchingStep } from './totp.js'

type Deps = {
  db: Db
  users: UserStore
  sessions: SessionStore
  factors: FactorStore
  challenges: ChallengeStore
  levels: SessionLevelStore
  refreshTokens: RefreshTokens
  audit: AuditLog
  mailer: Mailer
  /** With the text of AUTH_MFA_PHONE_TEMPLATE. */
  sms: SmsSender
  /** Fixed codes of test numbers (contract 5.5). */
  testOtpOf: (address: Address) => string | undefined
  keys: { encryption: KeyObject; codes: KeyObject }
  rules: FactorRules
  now: () => Date
}

export type IssuedChallenge = { id: string; type: StoredFactor['factorType']; expiresAt: Date }

/** Wrong codes that a factor takes within the life of a challenge; more would make six digits guessable. */
const MAX_ATTEMPTS = 10

/** Questions to factors, and what the right answer is worth (contract 1.20). */
export class ChallengeService {
  constructor(private readonly deps: Deps) {}

  async challenge(
    { user, session }: FactorCaller,
    factorId: string,
    wantedChannel: string | undefined,
    meta: RequestMeta,
  ): Promise<IssuedChallenge> {
    const { rules, now } = this.deps
    const factor = await this.#usableFactor(user, factorId)
    if (factor.status === 'unverified' && needsFactorFirst(user, session.aal, factor.id)) throw factorFirst()
    const channel = smsChannelOf(wantedChannel, rules.smsProvider)
    const code = factor.phone === null ? null : this.#codeFor(factor.phone)
    const at = now()
    const id = await this.#insert(user, factor, code, at, meta)
    if (factor.phone !== null && code !== null && code.isSent) {
      await this.deps.sms.send(factor.phone, code.text, channel, meta).catch(async (error: unknown) => {
        await this.#withdraw(id, factor, at)
        throw sendFailed(error)
      })
    }
    return { id, type: factor.factorType, expiresAt: new Date(at.getTime() + rules.challengeMs) }
  }

  async verify(
    caller: FactorCaller,
    factorId: string,
    { challenge_id: challengeId = '', code = '' }: { challenge_id?: string; code?: string },
    meta: RequestMeta,
  ): Promise<SignedIn> {
    if (code === '') throw invalid('Code needs to be non-empty')
    await this.#usableFactor(caller.user, factorId)
    // A wrong code must stay counted, so the refusal leaves the transaction as a value.
    const outcome = await this.deps.audit.transaction(meta, async (tx, record) => {
      const { user, factor, challenge } = await this.#locked(tx, caller, factorId, challengeId, meta)
      record('verification_attempted', user, { ...factorTraits(factor), challenge_id: challenge.id })
      const accepted = this.#accept(factor, challenge, code)
      if (accepted === null) {
        await this.deps.challenges.countAttempt(tx, challenge.id)
        return wrongCode(factor)
      }
      const signedIn = await this.#upgrade(tx, caller, factor, challenge, accepted.usedStep)
      return { signedIn, factor }
    })
    if (isAppError(outcome)) throw outcome
    if (outcome.factor.status === 'unverified')
      await this.#notifyEnrolled(outcome.signedIn.user, outcome.factor, meta)
    return outcome.signedIn
  }

  async #usableFactor(user: User, factorId: string): Promise<StoredFactor> {
    const { db, factors, rules } = this.deps
    const factor = await factors.find(db, user.id, factorId)
    if (factor === null) throw factorNotFound()
    const type = factor.factorType
    if (!rules.verify[type])
      throw authError(
        'unprocessable',
        `mfa_${type}_verify_not_enabled`,
        `MFA verification is disabled for ${type}`,
      )
    return factor
  }

  #codeFor(phone: string): { text: string; isSent: boolean } {
    const fixed = this.deps.testOtpOf({ kind: 'phone', value: phone })
    return { text: fixed ?? randomDigits(this.deps.rules.otpLength), isSent: fixed === undefined }
  }

  /** The stamp and the challenge together; the stamp lets only one of two simultaneous requests send an SMS. */
  async #insert(
    user: User,
    factor: StoredFactor,
    code: { text: string } | null,
    at: Date,
    meta: RequestMeta,
  ): Promise<string> {
    const { audit, factors, challenges, rules } = this.deps
    const id = randomUUID()
    const intervalMs = code === null ? 0 : rules.smsIntervalMs
    const lastBefore = intervalMs === 0 ? null : new Date(at.getTime() - intervalMs)
    await audit.transaction(meta, async (tx, record) => {
      if (!(await factors.stampChallenge(tx, factor.id, lastBefore, at)))
        throw tooSoon('over_sms_send_rate_limit', msLeft(factor, intervalMs, at))
      const otpHash = code === null ? null : this.#hashOf(id, code.text)
      await challenges.insert(tx, { id, factorId: factor.id, ip: meta.ip, otpHash }, at)
      record('challenge_created', user, { ...factorTraits(factor), challenge_id: id })
    })
    return id
  }

  async #withdraw(challengeId: string, factor: StoredFactor, stamped: Date): Promise<void> {
    const { db, challenges, factors } = this.deps
    await challenges.remove(db, challengeId)
    await factors.restoreStamp(db, factor.id, stamped, factor.lastChallengedAt)
  }

  /** Reads everything again behind the lock on the user, and refuses what no code can mend. */
  async #locked(tx: Tx, caller: FactorCaller, factorId: string, challengeId: string, meta: RequestMeta) {
    const { users, factors, challenges, rules, now } = this.deps
    const user = await users.lockById(tx, caller.user.id)
    const factor = await factors.find(tx, caller.user.id, factorId)
    if (user === null || factor === null) throw factorNotFound()
    const challenge = isUuid(challengeId) ? await challenges.find(tx, factor.id, challengeId) : null
    if (challenge === null)
      throw authError(
        'unprocessable',
        'mfa_factor_not_found',
        'MFA factor with the provided challenge ID not found',
      )
    if (challenge.verifiedAt !== null || challenge.ip !== meta.ip)
      throw authError(
        'unprocessable',
        'mfa_ip_address_mismatch',
        'Challenge and verify IP addresses mismatch',
      )
    const liveSince = new Date(now().getTime() - rules.challengeMs)
    if (challenge.createdAt <= liveSince)
      throw authError(
        'unprocessable',
        'mfa_challenge_expired',
        'MFA challenge has expired, verify against another one',
      )
    if (factor.status === 'unverified' && needsFactorFirst(user, caller.session.aal, factor.id))
      throw factorFirst()
    if ((await challenges.attemptsSince(tx, factor.id, liveSince)) >= MAX_ATTEMPTS)
      throw authError('limited', 'over_request_rate_limit', 'Too many wrong codes, try again later', {
        retryAfterSeconds: Math.ceil(rules.challengeMs / 1000),
      })
    return { user, factor, challenge }
  }

  #accept(factor: StoredFactor, challenge: Challenge, code: string): { usedStep: number | null } | null {
    if (challenge.otpHash !== null)
      return sameHash(challenge.otpHash, this.#hashOf(challenge.id, code)) ? { usedStep: null } : null
    const secret = unseal(this.deps.keys.encryption, factor.id, factor.secret ?? '')
    const usedStep = matchingStep(secret, code, this.deps.now(), factor.lastUsedStep)
    return usedStep === null ? null : { usedStep }
  }

  async #upgrade(
    tx: Tx,
    { user: { id: userId }, session }: FactorCaller,
    factor: StoredFactor,
    challenge: Challenge,
    usedStep: number | null,
  ): Promise<SignedIn> {
    const { users, sessions, factors, challenges, levels, refreshTokens, now } = this.deps
    const at = now()
    await challenges.consume(tx, challenge.id, at)
    await factors.markVerified(tx, factor.id, usedStep, at)
    await factors.removeOtherUnverified(tx, userId, factor)
    const refreshToken = refreshTokens.create()
    const method = FACTOR_METHODS[factor.factorType]
    const upgrade = { sessionId: session.id, userId, factorId: factor.id, method, refreshToken }
    const openedAt = await levels.upgrade(tx, upgrade, at)
    const user = await users.findById(tx, userId)
    if (openedAt === null || user === null)
      throw authError('forbidden', 'session_not_found', 'Session from session_id claim in JWT does not exist')
    await levels.removeWeaker(tx, userId, session.id)
    return {
      user,
      session: { id: session.id, aal: 'aal2', createdAt: openedAt },
      amr: await sessions.amrOf(tx, session.id),
      refreshToken: refreshToken.text,
    }
  }

  #hashOf(challengeId: string, code: string): Buffer {
    return keyedHash(this.deps.keys.codes, 'factor', challengeId, code)
  }

  #notifyEnrolled(user: User, { factorType }: StoredFactor, meta: RequestMeta): Promise<void> {
    const email = user.email ?? ''
    const variables = { email, factorType, data: user.userMetadata }
    return this.deps.mailer.notify('mfa_factor_enrolled_notification', email, variables, meta)
  }
}

const msLeft = ({ lastChallengedAt }: StoredFactor, intervalMs: number, at: Date): number =>
  // The one that was faster may be newer than what was read.
  (lastChallengedAt ?? at).getTime() + intervalMs - at.getTime()

const factorFirst = () =>
  authError('forbidden', 'insufficient_aal', 'AAL2 required to verify a new factor beside a verified one')

const wrongCode = ({ factorType }: StoredFactor): AppError =>
  authError(
    'unprocessable',
    'mfa_verification_failed',
    factorType === 'totp' ? 'Invalid TOTP code entered' : 'Invalid MFA Phone code entered',
  )

/** A refused message is the caller's to know about only when it is the quota (contract 1.20: 500). */
function sendFailed(error: unknown): unknown {
  if (isAppError(error) && error.kind === 'limited') return error
  return authError('internal', 'unexpected_failure', 'The code could not be sent', { cause: error })
}
