import { randomUUID, type KeyObject } from 'node:crypto'
import type { Db, Tx } from '@signet/db'
import { isAppError, type AppError } from '@signet/errors'
import type { Address } from '../addresses/address.js'
import type { Audit, AuditLog } from '../audit/audit-log.js'
import { authError, invalid, tooSoon } from '../errors/auth-error.js'
import type { FailedProofs } from '../failed-proofs/failed-proofs.js'
import type { Mailer } from '../mail/mailer.js'
import type { Observer } from '../observers/observer.js'
import { randomDigits, sameHash } from '../one-time-tokens/one-time-token.js'
import type { SendQuotas } from '../quotas/send-quotas.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { keyedHash } from '../secrets/derived-keys.js'
import { tryUnseal } from '../secrets/sealed-box.js'
import { recordCancelled, type SessionEnds } from '../sessions/session-ends.js'
import type { SessionGate } from '../sessions/session-gate.js'
import type { SessionService } from '../sessions/session-service.js'
import type { Held, Live, SignedIn } from '../sessions/session.js'
import { smsChannelOf } from '../sign-up/sms-channel.js'
import { hasVerifiedFactor, type User } from '../users/user.js'
import type { Guesses } from '../sign-in/guesses.js'
import { isUuid } from '../users/uuid.js'
import type { Challenge, ChallengeStore } from './challenge-store.js'
import type { FactorCodes } from './factor-codes.js'
import {
  factorNotFound,
  factorTraits,
  msLeft,
  needsFactorFirst,
  orRefusal,
  type FactorRules,
} from './factor-rules.js'
import { entryOf, factorFirst, isUnreadable, unreadableFactor, wrongAnswer } from './factor-refusals.js'
import type { FactorStore, StoredFactor } from './factor-store.js'
import { FACTOR_METHODS, type SessionLevelStore } from './session-level-store.js'
import { matchingStep } from './totp.js'
import type { WebauthnAnswer, WebauthnFactors, WebauthnRequest } from './webauthn-factors.js'

type Deps = {
  db: Db
  sessions: SessionService
  gate: SessionGate
  ends: SessionEnds
  factors: FactorStore
  challenges: ChallengeStore
  levels: SessionLevelStore
  audit: AuditLog
  mailer: Mailer
  observer: Pick<Observer, 'sealedElsewhere'>
  codes: FactorCodes
  webauthn: WebauthnFactors
  quotas: SendQuotas
  guesses: Guesses
  failed: FailedProofs
  /** Fixed codes of test numbers (docs/specification.md#test-codes). */
  testOtpOf: (address: Address) => string | undefined
  keys: { encryption: KeyObject; codes: KeyObject }
  /** Refuses a session that may no longer add a factor, although it began to. */
  requireRecentProof: (live: Live) => Promise<void>
  rules: FactorRules
  now: () => Date
}

type Locked = { held: Held; factor: StoredFactor; challenge: Challenge }
type SendCode = (tx: Tx, challengeId: string) => Promise<void>
type NewChallenge = { user: User; factor: StoredFactor; code: { text: string } | null; at: Date }

type Accepted = { usedStep: number | null }

export type IssuedChallenge = {
  id: string
  type: StoredFactor['factorType']
  expiresAt: Date
  webauthn?: WebauthnRequest
}

/** The challenge and what proves the factor: a code, or the answer of a security key. */
export type FactorAnswer = { challenge_id?: string; code?: string; webauthn?: WebauthnAnswer }

/** Factor challenges and their verification (docs/specification.md#factors). */
export class ChallengeService {
  constructor(private readonly deps: Deps) {}

  async challenge(
    { user, session }: Live,
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
    const expiresAt = new Date(at.getTime() + rules.challengeMs)
    const insert = (send: SendCode) => this.#insert({ user, factor, code, at }, send, meta)
    if (factor.phone === null || code === null || !code.isSent) {
      const issued = { id: await insert(() => Promise.resolve()), type: factor.factorType, expiresAt }
      if (factor.factorType !== 'webauthn') return issued
      return { ...issued, webauthn: await this.deps.webauthn.requestFor(user, factor, issued.id) }
    }
    const { codes, quotas } = this.deps
    codes.refuse()
    const message = { phone: factor.phone, code: code.text, channel }
    const undo = {
      userId: user.id,
      factorId: factor.id,
      challengedAt: at.toISOString(),
      challengedBefore: factor.lastChallengedAt?.toISOString() ?? null,
    }
    const id = await quotas.sms({ purpose: 'second_factor', to: message.phone }, meta, () =>
      insert((tx, challengeId) => codes.add(tx, message, { ...undo, challengeId }, expiresAt, meta)),
    )
    return { id, type: factor.factorType, expiresAt }
  }

  async verify(caller: Live, factorId: string, answer: FactorAnswer, meta: RequestMeta): Promise<SignedIn> {
    const { factorType, status } = await this.#usableFactor(caller.user, factorId)
    if (status === 'unverified') await this.deps.requireRecentProof(caller)
    if (factorType !== 'webauthn' && !answer.code) throw invalid('Code needs to be non-empty')
    // A wrong code must stay counted, so the transaction returns the error instead of throwing it.
    const outcome = await this.deps.audit.transaction(meta, async (tx, record) => {
      const locked = await this.#locked(tx, caller, factorId, answer.challenge_id ?? '', meta)
      const { held, factor, challenge } = locked
      const accepted = await this.#accept(tx, locked, answer)
      if (isAppError(accepted)) {
        await this.#recordRefusal(tx, record, locked, accepted, meta)
        return accepted
      }
      record('verification_attempted', held.user, { ...traitsOf(locked), accepted: true })
      // Changes of address need the factor from here on, so a pending change that began without it is dropped.
      if (!hasVerifiedFactor(held.user))
        recordCancelled(record, held.user, await this.deps.ends.cancelChanges(tx, held.user.id))
      const signedIn = await this.#upgrade(tx, held, factor, challenge, accepted.usedStep)
      if (factor.status === 'unverified') {
        record('factor_added', signedIn.user, { factor_id: factor.id, factor_type: factor.factorType })
        await this.#notifyEnrolled(tx, signedIn.user, factor, meta)
      }
      return signedIn
    })
    if (isAppError(outcome)) throw outcome
    return outcome
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

  /** Stores the stamp and the challenge in one transaction. The stamp lets only one of two concurrent requests send an SMS. */
  async #insert(
    { user, factor, code, at }: NewChallenge,
    send: SendCode,
    meta: RequestMeta,
  ): Promise<string> {
    const { audit, factors, challenges, rules } = this.deps
    const id = randomUUID()
    const intervalMs = code === null ? 0 : rules.smsIntervalMs
    const lastBefore = intervalMs === 0 ? null : new Date(at.getTime() - intervalMs)
    await audit.transaction(meta, async (tx, record) => {
      if (!(await factors.stampChallenge(tx, factor.id, lastBefore, at))) {
        if ((await factors.find(tx, user.id, factor.id)) === null) throw factorNotFound()
        throw tooSoon('over_sms_send_rate_limit', msLeft(factor, intervalMs, at))
      }
      const otpHash = code === null ? null : this.#hashOf(id, factor, code.text)
      await challenges.insert(tx, { id, factorId: factor.id, ip: meta.ip, otpHash }, at)
      await send(tx, id)
      record('challenge_created', user, { ...factorTraits(factor), challenge_id: id })
    })
    return id
  }

  /** Reads everything again under the locks on user and session, and refuses requests for which even the right code would not help. */
  async #locked(
    tx: Tx,
    caller: Live,
    factorId: string,
    challengeId: string,
    meta: RequestMeta,
  ): Promise<Locked> {
    const { gate, factors, challenges, rules, now } = this.deps
    const ids = { userId: caller.user.id, sessionId: caller.session.id }
    const held = await gate.hold(tx, ids, { whilePending: true })
    const factor = await factors.find(tx, held.user.id, factorId)
    if (factor === null) throw factorNotFound()
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
    if (factor.status === 'unverified' && needsFactorFirst(held.user, held.session.aal, factor.id))
      throw factorFirst()
    return { held, factor, challenge }
  }

  async #accept(
    tx: Tx,
    locked: Locked,
    { code = '', webauthn = {} }: FactorAnswer,
  ): Promise<Accepted | AppError> {
    const { held, factor, challenge } = locked
    if (factor.factorType === 'webauthn') {
      // Signatures cannot be guessed, so wrong ones cause no delay.
      const step = { held, factor, challengeId: challenge.id }
      return (await this.deps.webauthn.accept(tx, step, webauthn)) ? { usedStep: null } : wrongAnswer(factor)
    }
    // Empty for a factor without one.
    const secret =
      factor.secret === null ? '' : tryUnseal(this.deps.keys.encryption, factor.id, factor.secret)
    if (secret === null) return unreadableFactor(factor)
    const attempt = await orRefusal(this.deps.guesses.beginFactor(tx, factor.id))
    if (isAppError(attempt)) return attempt
    const accepted = this.#acceptCode(locked, code, secret)
    if (accepted === null) return wrongAnswer(factor)
    await attempt.takeBack()
    return accepted
  }

  #acceptCode({ factor, challenge }: Locked, code: string, secret: string): Accepted | null {
    if (challenge.otpHash !== null)
      return sameHash(challenge.otpHash, this.#hashOf(challenge.id, factor, code)) ? { usedStep: null } : null
    const usedStep = matchingStep(secret, code, this.deps.now(), factor.lastUsedStep)
    return usedStep === null ? null : { usedStep }
  }

  async #recordRefusal(tx: Tx, record: Audit, locked: Locked, refusal: AppError, meta: RequestMeta) {
    const { failed, observer } = this.deps
    const { held, factor } = locked
    const { reason, once } = entryOf(factor, refusal)
    if (once !== null && !(await failed.isFirstRefusal(tx, once, factor.id))) return
    if (isUnreadable(refusal)) observer.sealedElsewhere('the secret of a second factor', factor.id, meta)
    record('verification_attempted', held.user, { ...traitsOf(locked), accepted: false, reason })
  }

  async #upgrade(
    tx: Tx,
    held: Held,
    factor: StoredFactor,
    challenge: Challenge,
    usedStep: number | null,
  ): Promise<SignedIn> {
    const { sessions, ends, factors, challenges, levels, now } = this.deps
    const { user, session } = held
    const at = now()
    await challenges.consume(tx, challenge.id, at)
    await factors.markVerified(tx, factor.id, usedStep, at)
    await factors.removeOtherUnverified(tx, user.id, factor)
    const isNew = factor.status === 'unverified'
    const upgrade = { factorId: factor.id, method: FACTOR_METHODS[factor.factorType], isNew }
    await levels.upgrade(tx, held, upgrade, at)
    await ends.weaker(tx, user.id, session.id, 'factor_verified')
    return sessions.resume(tx, held)
  }

  /** The hash includes the number, so that a code sent to a former number is wrong. */
  #hashOf(challengeId: string, { phone }: StoredFactor, code: string): Buffer {
    return keyedHash(this.deps.keys.codes, 'factor', challengeId, phone ?? '', code)
  }

  #notifyEnrolled(tx: Tx, user: User, { factorType }: StoredFactor, meta: RequestMeta): Promise<void> {
    const to = user.email ?? ''
    const variables = { email: to, factorType, data: user.userMetadata }
    return this.deps.mailer.notify(tx, { kind: 'mfa_factor_enrolled_notification', to, variables }, meta)
  }
}

const traitsOf = ({ factor, challenge }: Locked) => ({ ...factorTraits(factor), challenge_id: challenge.id })
