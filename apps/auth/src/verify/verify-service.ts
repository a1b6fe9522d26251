import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '@signet/db'
import type { AppError } from '@signet/errors'
import type { Audit, AuditLog } from '../audit/audit-log.js'
import { authError, otpExpired, userBanned } from '../errors/auth-error.js'
import { badVerifier } from '../code-exchange/flow-service.js'
import type { FlowStore, MailMethod } from '../flows/flow-store.js'
import { verifierMatches, type Challenge } from '../flows/pkce.js'
import type { StoredToken } from '../one-time-tokens/one-time-token-store.js'
import { TOO_MANY, type FailedProofs } from '../failed-proofs/failed-proofs.js'
import { stranger } from '../hash-callers/known-callers.js'
import type { PasswordHasher } from '../passwords/password-hasher.js'
import type { PasswordRules } from '../passwords/password-rules.js'
import type { Claim } from '../proofs/address-proofs.js'
import type { Client, RequestMeta } from '../requests/request-meta.js'
import { sha256 } from '../secrets/derived-keys.js'
import type { SessionService } from '../sessions/session-service.js'
import type { SignedIn } from '../sessions/session.js'
import type { PendingSignUpStore } from '../users/pending-sign-up-store.js'
import { refuseEmpty, refusePassword } from '../users/new-password.js'
import { isBanned, isProven, type User } from '../users/user.js'
import type { Match, Miss, TokenMatcher } from './token-matcher.js'
import type { VerifyEffects } from './verify-effects.js'
import { resolveType, type Proof, type Typist, type VerifyType } from './verify-request.js'

export type VerifyRequest = {
  type: VerifyType
  proof: Proof
  typist?: Typist | undefined
  /**
   * What to answer with: a session, a code that only the holder of the PKCE verifier can exchange, or neither if the caller already has a
   * session.
   */
  answer: 'session' | 'code' | 'nothing'
  /** The code to issue for `answer: 'code'`; a random one if left out. */
  code?: string
  /** Our own page requested this link and asked the person, who may be using another browser than the one with the verifier. */
  confirmed?: boolean
  /** Proves only the address: the data of the link's sign-up does not apply. */
  withoutSignUp?: boolean
  /** The link was opened in a browser, so it must be exactly as sent, including its prefix. */
  followed?: boolean
  /** The verifier for the challenge with which the message was requested. */
  verifier?: string | undefined
  password?: string | undefined
  /** The confirmed user must get a password. */
  requirePassword?: boolean
}

export type Verified =
  | { kind: 'signed_in'; signedIn: SignedIn; type: Exclude<VerifyType, 'email'> }
  | { kind: 'code'; code: string }
  | { kind: 'first_half' }
type Confirmed = { kind: 'confirmed' }

export type VerifyRules = { mailTokenMs: number; smsTokenMs: number; passwords: PasswordRules }

/** A link that would work and has not been used. */
export type LinkPreview = {
  userId: string
  address: string
  challenge: Challenge | null
  /** The link belongs to a sign-up, and another person has signed up with the same address. */
  contested: boolean
}
export type LinkProof = { type: VerifyType; token: string }

type Deps = {
  db: Db
  flows: FlowStore
  signUps: PendingSignUpStore
  matcher: TokenMatcher
  effects: VerifyEffects
  sessions: SessionService
  failed: FailedProofs
  audit: AuditLog
  hasher: PasswordHasher
  rules: VerifyRules
  now: () => Date
}

/** A proof that was counted or consumed and then refused. The transaction commits, and the error is thrown afterwards. */
type Refusal = 'wrong' | 'bad_verifier' | 'banned'
type Outcome = Verified | Confirmed | Refusal

const ERRORS: Readonly<Record<Refusal, () => AppError>> = {
  wrong: otpExpired,
  bad_verifier: badVerifier,
  banned: () => userBanned('forbidden'),
}

/** GET and POST /verify. */
export class VerifyService {
  constructor(private readonly deps: Deps) {}

  verify(request: VerifyRequest & { answer: 'session' | 'code' }, meta: RequestMeta): Promise<Verified>
  verify(request: VerifyRequest, meta: RequestMeta): Promise<Verified | Confirmed>
  async verify(request: VerifyRequest, meta: RequestMeta): Promise<Verified | Confirmed> {
    const passwordHash = await this.#newPasswordHash(request, meta)
    const outcome = await this.deps.audit.transaction(meta, (tx, audit): Promise<Outcome> =>
      this.#attempt(tx, audit, request, passwordHash, meta),
    )
    if (typeof outcome === 'string') throw ERRORS[outcome]()
    return outcome
  }

  /** What a page needs to know about a link; null for one that no longer works. */
  async preview({ type, token }: LinkProof): Promise<LinkPreview | null> {
    const found = await this.deps.matcher.look(this.deps.db, type, token)
    if (found === null) return null
    const { userId, signUpId, sentTo, challenge } = found
    const contested = signUpId !== null && (await this.deps.signUps.isContested(this.deps.db, signUpId))
    return { userId, address: sentTo.value, challenge, contested }
  }

  /** Disables the link; the code of the same email still works. */
  async discardLink({ type, token }: LinkProof, meta: RequestMeta): Promise<void> {
    const { db, matcher } = this.deps
    const proof = { kind: 'link', token } as const
    await db.transaction(async (tx) => {
      const match = await matcher.find(tx, { type, proof, client: meta.client, followed: true })
      if (typeof match !== 'string') await matcher.spendLink(tx, match)
    })
  }

  async #attempt(
    tx: Tx,
    audit: Audit,
    request: VerifyRequest,
    passwordHash: string | null,
    meta: RequestMeta,
  ): Promise<Outcome> {
    const { matcher, sessions, effects } = this.deps
    const { client } = meta
    const match = await matcher.find(tx, { ...request, client })
    if (typeof match === 'string') {
      await this.#recordMiss(tx, audit, match, request)
      return 'wrong'
    }
    const { user, token } = match
    const recordFailure = (reason: string) =>
      audit('login_failed', user, { provider: token.sentTo.kind, reason })
    if (isBanned(user, this.deps.now())) {
      recordFailure('user_banned')
      return 'banned'
    }
    if (!this.#verifierFits(match, request)) {
      await matcher.spend(tx, match)
      recordFailure('bad_code_verifier')
      return 'bad_verifier'
    }
    const type = resolveType(request.type, token.slot)
    const claim = await this.#claimOf(tx, match, request, passwordHash, client)
    const effect = await effects.apply(tx, audit, { type, user, token, claim }, meta)
    if (effect.kind === 'first_half') return { kind: 'first_half' }
    // If the link was opened in another browser, that browser gets no session, so the code can still be typed.
    if (request.answer === 'code' && token.slot === 'recovery') await matcher.spendLink(tx, match)
    else await matcher.spendAll(tx, match, client)
    if (request.answer === 'code')
      return { kind: 'code', code: await this.#issueCode(tx, user, token, type, request.code) }
    // One proof opens one session. Once a code was typed or a link used, codes from other links end.
    await this.deps.flows.removeCodesOfLinks(tx, user.id)
    if (request.answer === 'nothing') return { kind: 'confirmed' }
    const signedIn = await sessions.open(tx, effect.user, 'otp', meta)
    return { kind: 'signed_in', signedIn, type }
  }

  /** Does the same work whether or not there is an account. An invalid link names no account. */
  async #recordMiss(tx: Tx, audit: Audit, miss: Miss, { proof, typist }: VerifyRequest): Promise<void> {
    if (proof.kind === 'link') return
    const { failed } = this.deps
    const { address } = proof
    if (miss === 'too_many' && !(await failed.isFirstRefusal(tx, 'code', address.kind, address.value))) return
    const actor = await failed.actorOf(tx, address, typist?.userId)
    const reason = miss === 'too_many' ? TOO_MANY : 'wrong_code'
    audit('login_failed', actor, { provider: address.kind, reason })
  }

  /**
   * A link that was requested with a challenge opens a session only for the holder of the verifier: here, or when its code is exchanged.
   * Codes are typed by the person who reads them, and clients do not send a verifier with them
   * (infra/decisions/0124-verifiers-for-links.md).
   */
  #verifierFits({ token }: Match, { proof, answer, confirmed, verifier = '' }: VerifyRequest): boolean {
    if (token.challenge === null || answer === 'code' || confirmed) return true
    if (verifier !== '') return verifierMatches(token.challenge, verifier)
    if (proof.kind === 'otp') return true
    throw authError(
      'invalid',
      'bad_code_verifier',
      'This link was requested with PKCE: code_verifier is required',
    )
  }

  /** The data of the token's own sign-up, or the password that is set together with the proof. */
  async #claimOf(
    tx: Tx,
    match: Match,
    request: VerifyRequest,
    passwordHash: string | null,
    client: Client,
  ): Promise<Claim | null> {
    const { signUps } = this.deps
    const { user, token } = match
    const claim = request.withoutSignUp ? null : await this.#signUpOf(tx, match, request, client)
    if (!request.requirePassword || isProven(user)) return claim
    const stored =
      claim?.passwordHash ?? (await signUps.findAdministrators(tx, user.id))?.passwordHash ?? null
    if (stored !== null) return claim
    // Users who signed up by code have no password. Invited users and those from providers have yet to choose one.
    const isByCode = token.slot === 'confirmation' && claim !== null && claim.identityId === null
    if (passwordHash === null && !isByCode)
      throw authError('unprocessable', 'validation_failed', 'A password is required to finish the signup')
    const blank = { origin: 'administrator', aud: null, userMetadata: {}, identityId: null } as const
    return { ...(claim ?? blank), passwordHash }
  }

  /**
   * The sign-up whose password and data the proof applies. Null if it only proves the address: for the code of someone else's sign-up, and
   * also once anyone else has signed up with the address, before or after, if the message was sent again or the typist cannot be told apart
   * from other clients.
   */
  async #signUpOf(
    tx: Tx,
    { token: { signUpId, byAnyone }, isOwn }: Match,
    { proof, typist }: VerifyRequest,
    client: Client,
  ): Promise<Claim | null> {
    const { signUps } = this.deps
    const signUp = signUpId === null ? null : await signUps.find(tx, signUpId)
    if (signUp === null || signUp.origin === 'administrator') return signUp
    if (!isOwn) return null
    const isVague = byAnyone || (proof.kind === 'otp' && client.shared && typist?.signUpId === undefined)
    return isVague && (await signUps.isContested(tx, signUp.id)) ? null : signUp
  }

  /** Hashes the password before the transaction, which decides whether it is used. */
  async #newPasswordHash(
    { requirePassword = false, password }: VerifyRequest,
    meta: RequestMeta,
  ): Promise<string | null> {
    const { hasher, rules } = this.deps
    refuseEmpty(password)
    if (!requirePassword || password === undefined) return null
    refusePassword(rules.passwords, password)
    return hasher.hash(password, stranger(meta))
  }

  async #issueCode(
    tx: Tx,
    user: User,
    { challenge }: StoredToken,
    type: Exclude<VerifyType, 'email'>,
    code: string = randomUUID(),
  ): Promise<string> {
    const method = MAIL_METHODS[type]
    if (challenge === null || method === undefined)
      throw authError('invalid', 'flow_state_not_found', 'No sign-in flow is waiting for this link')
    const flow = { id: randomUUID(), userId: user.id, challenge, method, codeHash: sha256(code) }
    await this.deps.flows.insertMailCode(tx, flow, this.deps.now())
    return code
  }
}

const MAIL_METHODS: Readonly<Partial<Record<VerifyType, MailMethod>>> = {
  signup: 'email/signup',
  invite: 'invite',
  recovery: 'recovery',
  magiclink: 'magiclink',
  email_change: 'email_change',
}
