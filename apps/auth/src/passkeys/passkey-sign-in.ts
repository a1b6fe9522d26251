import type { Db, Tx } from '@signet/db'
import { isAppError, type AppError } from '@signet/errors'
import type { AuditLog } from '../audit/audit-log.js'
import { authError, userBanned } from '../errors/auth-error.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { SessionService } from '../sessions/session-service.js'
import type { SignedIn } from '../sessions/session.js'
import type { UserStore } from '../users/user-store.js'
import { isBanned, isProven, type User } from '../users/user.js'
import type { Challenges } from '../webauthn/challenges.js'
import type { Credential } from '../webauthn/credential.js'
import type { CredentialStore } from '../webauthn/credential-store.js'
import { credentialIdOf, type Assertion, type RelyingParty } from '../webauthn/relying-party.js'
import { hasHandleOf } from '../webauthn/user-handle.js'
import { complete, type PasskeyAnswer } from './passkey-registration.js'
import { PASSKEY_PROVIDER, passkeyTraits, verificationFailed } from './passkey-rules.js'

type Deps = {
  db: Db
  users: UserStore
  sessions: SessionService
  credentials: CredentialStore
  challenges: Challenges
  relyingParty: RelyingParty
  audit: AuditLog
  now: () => Date
}

/** Signs in with a passkey, which also says whose it is (docs/specification.md#passkey-sign-ins). */
export class PasskeySignIn {
  constructor(private readonly deps: Deps) {}

  /** The options are the same for everyone, because the server does not know yet who is signing in. */
  async options() {
    const challenge = this.deps.challenges.issue({ kind: 'sign_in' })
    return { challenge, options: await this.deps.relyingParty.requestOptions(challenge.bytes) }
  }

  async signIn(answer: PasskeyAnswer, meta: RequestMeta): Promise<SignedIn> {
    const { db, credentials, challenges, relyingParty, audit } = this.deps
    const { challengeId, credential } = complete(answer)
    const challenge = challenges.expected(challengeId, { kind: 'sign_in' })
    const passkey = await credentials.findPasskey(db, credentialIdOf(credential))
    const assertion = passkey && (await relyingParty.verifyRequest(credential, challenge, passkey))
    if (passkey === null || assertion === null || !hasHandleOf(credential, passkey.userId)) {
      await this.#recordFailure(passkey, meta)
      throw verificationFailed()
    }
    await challenges.spend(challengeId)
    // A refusal must stay on record, so the transaction returns the error instead of throwing it.
    const outcome = await audit.transaction(meta, async (tx, record) => {
      const user = await this.deps.users.lockById(tx, passkey.userId)
      if (user === null) return verificationFailed()
      const refusal = await this.#refusalOf(tx, user, passkey, assertion)
      if (refusal !== null) {
        record('login_failed', user, { ...traits(passkey), reason: refusal.reason })
        return refusal.error
      }
      record('login', user, traits(passkey))
      const proof = { passkeyId: passkey.id, userVerified: assertion.userVerified }
      return this.deps.sessions.openByPasskey(tx, user, proof, meta)
    })
    if (isAppError(outcome)) throw outcome
    return outcome
  }

  /** Only someone who holds the passkey is told why it is not enough. */
  async #refusalOf(
    tx: Tx,
    user: User,
    passkey: Credential,
    { signCount }: Assertion,
  ): Promise<{ reason: string; error: AppError } | null> {
    const { credentials, now } = this.deps
    if (!(await credentials.use(tx, passkey.id, signCount, now())))
      return { reason: 'counter_went_back', error: verificationFailed() }
    const error = user.deletedAt !== null ? verificationFailed() : this.#obstacleOf(user)
    return error && { reason: error.code, error }
  }

  #obstacleOf(user: User): AppError | null {
    if (isBanned(user, this.deps.now())) return userBanned('forbidden')
    if (isProven(user)) return null
    // Until the address is proven, the account has no owner.
    if (user.email !== null) return authError('forbidden', 'email_not_confirmed', 'Email not confirmed')
    if (user.phone !== null) return authError('forbidden', 'phone_not_confirmed', 'Phone not confirmed')
    return null
  }

  async #recordFailure(passkey: Credential | null, meta: RequestMeta): Promise<void> {
    const { db, users, audit } = this.deps
    const user = passkey && (await users.findById(db, passkey.userId))
    const reason = passkey === null ? 'unknown_passkey' : 'wrong_answer'
    await audit.record(meta, 'login_failed', user ?? { claimed: '' }, {
      ...(passkey === null ? { provider: PASSKEY_PROVIDER } : traits(passkey)),
      reason,
    })
  }
}

const traits = (passkey: Credential) => ({ provider: PASSKEY_PROVIDER, ...passkeyTraits(passkey) })
