import { randomUUID } from 'node:crypto'
import { type Tx } from '@signet/db'
import { type Audit, type AuditLog } from '../audit/audit-log.js'
import { authError, otpExpired, userBanned } from '../errors/auth-error.js'
import { type FlowStore, type MailMethod } from '../flows/flow-store.js'
import { isPkceLink, sameHash, type TokenHashes } from '../one-time-tokens/one-time-token.js'
import { type OneTimeTokenStore, type StoredToken } from '../one-time-tokens/one-time-token-store.js'
import { type PasswordHasher } from '../passwords/password-hasher.js'
import { randomPassword, type PasswordRules } from '../passwords/password-rules.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { sha256 } from '../secrets/derived-keys.js'
import { type SessionService } from '../sessions/session-service.js'
import { type SignedIn } from '../sessions/session.js'
import { refusePassword } from '../users/new-password.js'
import { type UserStore } from '../users/user-store.js'
import { isBanned, type User } from '../users/user.js'
import { type Effect, type VerifyEffects } from './verify-effects.js'
import { resolveType, slotsOf, type Proof, type VerifyType } from './verify-request.js'

export type VerifyRequest = {
  type: VerifyType
  proof: Proof
  aud: string
  /** What to answer with: a session, or a code that only the holder of the PKCE verifier can exchange. */
  answer: 'session' | 'code'
  /** From a browser: the link must be as it was sent, prefix and all. */
  followed?: boolean
  password?: string | undefined
  /** A confirmed user needs a password afterwards (contract 0.2). */
  requirePassword?: boolean
}

export type Verified =
  | { kind: 'signed_in'; signedIn: SignedIn; type: Exclude<VerifyType, 'email'> }
  | { kind: 'code'; code: string }
  | { kind: 'first_half' }

export type VerifyRules = { mailTokenMs: number; smsTokenMs: number; passwords: PasswordRules }

type Deps = {
  users: UserStore
  flows: FlowStore
  tokens: OneTimeTokenStore
  hashes: TokenHashes
  effects: VerifyEffects
  sessions: SessionService
  audit: AuditLog
  hasher: PasswordHasher
  rules: VerifyRules
  now: () => Date
}

const MAX_WRONG_CODES = 10
/** People who all claim one address; more than a few are an attack on the others. */
const MAX_CLAIMANTS = 5

type Outcome = { verified: Verified; effect: Effect } | 'wrong'

/** GET and POST /verify (contract 1.7 and 1.8). */
export class VerifyService {
  constructor(private readonly deps: Deps) {}

  async verify(request: VerifyRequest, meta: RequestMeta): Promise<Verified> {
    const passwordHash = await this.#newPasswordHash(request)
    // A wrong code is counted, so its transaction commits; the refusal comes afterwards.
    const outcome = await this.deps.audit.transaction(meta, (tx, audit): Promise<Outcome> =>
      this.#attempt(tx, audit, request, passwordHash, meta),
    )
    if (outcome === 'wrong') throw otpExpired()
    await outcome.effect.announce?.(meta)
    return outcome.verified
  }

  async #attempt(
    tx: Tx,
    audit: Audit,
    request: VerifyRequest,
    passwordHash: string | null,
    meta: RequestMeta,
  ): Promise<Outcome> {
    const match = await this.#findMatch(tx, request)
    if (match === null) return 'wrong'
    const { user, token } = match
    if (isBanned(user, this.deps.now())) throw userBanned('forbidden')
    const type = resolveType(request.type, token.slot)
    await this.#ensurePassword(tx, user, type, request, passwordHash)
    const effect = await this.deps.effects.apply(tx, audit, { type, user, token })
    if (effect.kind === 'first_half') return { verified: { kind: 'first_half' }, effect }
    await this.deps.tokens.removeAll(tx, user.id)
    if (request.answer === 'code')
      return { verified: { kind: 'code', code: await this.#issueCode(tx, user, type) }, effect }
    const signedIn = await this.deps.sessions.open(tx, effect.user, 'otp', meta)
    return { verified: { kind: 'signed_in', signedIn, type }, effect }
  }

  async #findMatch(tx: Tx, request: VerifyRequest): Promise<{ user: User; token: StoredToken } | null> {
    const { proof } = request
    return proof.kind === 'link'
      ? this.#findLink(tx, proof.token, request)
      : this.#findOtp(tx, proof, request)
  }

  async #findLink(tx: Tx, text: string, { type, followed = false }: VerifyRequest) {
    const { users, tokens, hashes } = this.deps
    const found = await tokens.findByLink(tx, hashes.ofLink(text), slotsOf[type])
    const user = found && (await users.lockById(tx, found.userId))
    // Looked up again under the lock: of two requests with the same link one finds nothing any more.
    const token = found && (await tokens.find(tx, found.id))
    if (!user || !token || this.#isExpired(token, type)) return null
    // Cutting the prefix off a PKCE link must not turn it into one that hands out a session.
    if (followed && isPkceLink(text) !== (token.flow === 'pkce')) return null
    return { user, token }
  }

  async #findOtp(tx: Tx, { address, otp }: Extract<Proof, { kind: 'otp' }>, { type, aud }: VerifyRequest) {
    const { users, tokens, hashes } = this.deps
    const slots = slotsOf[type]
    for (const userId of await tokens.usersAwaiting(tx, address.value, aud, slots, MAX_CLAIMANTS)) {
      const user = await users.lockById(tx, userId)
      if (user === null) continue
      for (const token of await tokens.countAttempt(tx, userId, address.value, slots)) {
        const matches = sameHash(token.otpHash, hashes.ofOtp(token.slot, address.value, otp))
        if (matches && !this.#isExpired(token, type)) return { user, token }
        if (token.attempts >= MAX_WRONG_CODES) await tokens.remove(tx, token.id)
      }
    }
    return null
  }

  #isExpired(token: StoredToken, type: VerifyType): boolean {
    const { rules, now } = this.deps
    const lifeMs = type === 'sms' || type === 'phone_change' ? rules.smsTokenMs : rules.mailTokenMs
    return token.createdAt.getTime() + lifeMs <= now().getTime()
  }

  /** Hashed before the transaction begins; whether it is used is seen inside. */
  async #newPasswordHash(request: VerifyRequest): Promise<string | null> {
    const { hasher, rules } = this.deps
    if (request.type === 'invite') return hasher.hash(randomPassword(rules.passwords))
    const { password = '' } = request
    if (!request.requirePassword || password === '') return null
    refusePassword(rules.passwords, password)
    return hasher.hash(password)
  }

  async #ensurePassword(
    tx: Tx,
    user: User,
    type: VerifyType,
    request: VerifyRequest,
    passwordHash: string | null,
  ): Promise<void> {
    if (user.passwordHash !== null || (type !== 'signup' && type !== 'invite')) return
    if (type === 'signup' && !request.requirePassword) return
    if (passwordHash === null)
      throw authError('unprocessable', 'validation_failed', 'A password is required to finish the signup')
    await this.deps.users.update(tx, user.id, { passwordHash }, this.deps.now())
  }

  async #issueCode(tx: Tx, user: User, type: Exclude<VerifyType, 'email'>): Promise<string> {
    const code = randomUUID()
    const method = MAIL_METHODS[type]
    const issued =
      method !== undefined &&
      (await this.deps.flows.issueCode(tx, user.id, method, sha256(code), this.deps.now()))
    if (!issued)
      throw authError('invalid', 'flow_state_not_found', 'No sign-in flow is waiting for this link')
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
