import type { RequestMeta } from '@signet/telemetry'
import type { Observer } from '../observers/observer.js'
import type { Factor, IdentityClient, IdentitySession } from '../identity/identity-client.js'
import type { PendingSignIn } from '../identity/pending-sign-in.js'
import { askIdentity } from '../identity/identity-outage.js'
import type { IdentityUser, UserJwtVerifier } from '../identity/user-jwt.js'
import type { OpenSession, SessionService } from '../sessions/session-service.js'
import type { Session } from '../sessions/session-store.js'
import { limitFailures, type FailureLimit } from './failure-limit.js'

type Deps = {
  identity: IdentityClient
  users: UserJwtVerifier
  sessions: SessionService
  failures: FailureLimit
  observer: Observer
}

/** The second step of signing in, for accounts with a verified factor. */
export class SecondFactorService {
  constructor(private readonly deps: Deps) {}

  /** Remembers the first step in the session. An authenticator comes before a phone: it needs no message. */
  async begin(
    session: Session,
    accountId: string,
    { accessToken, factors }: IdentitySession,
    meta: RequestMeta,
  ): Promise<boolean> {
    const factor = factors.find(({ type }) => type === 'totp') ?? factors[0]
    if (!factor) return false
    this.deps.observer.login('second_factor', { accountId }, meta)
    const pending: PendingSignIn = { accessToken, factors, accountId, factorId: factor.id, challengeId: null }
    return this.deps.sessions.keepPending(session, pending)
  }

  pending(session: Session): PendingSignIn | null {
    return this.deps.sessions.readPending(session) as PendingSignIn | null
  }

  /** Changes to a factor of the pending sign-in; a phone is sent a code. False when that was refused. */
  async choose(session: Session, factorId: string, clientIp: string, meta: RequestMeta): Promise<boolean> {
    const pending = this.pending(session)
    const factor = pending?.factors.find(({ id }) => id === factorId)
    if (!pending || !factor) return false
    const challengeId =
      factor.type === 'phone' ? await this.#challenge(pending, factor, clientIp, meta) : null
    if (factor.type === 'phone' && challengeId === null) return false
    return this.deps.sessions.keepPending(session, { ...pending, factorId, challengeId })
  }

  /** The signed-in session; null for a wrong or expired code. */
  async verify(
    session: Session,
    code: string,
    clientIp: string,
    meta: RequestMeta,
  ): Promise<OpenSession | null> {
    const { sessions, failures, observer } = this.deps
    const pending = this.pending(session)
    const factor = pending?.factors.find(({ id }) => id === pending.factorId)
    if (!pending || !factor) return null
    const { accountId } = pending
    const user = await limitFailures(
      { limit: failures, key: `factor ${accountId}` },
      () => this.#answer(pending, factor, { code, clientIp, meta }),
      (found) => found === null,
    )
    observer.login(user ? 'ok' : 'refused', { accountId }, meta)
    return (
      user && sessions.signIn(session, { id: accountId, email: user.email, authenticatedAt: user.issuedAt })
    )
  }

  /** The user of the raised session; null when the code was refused. */
  async #answer(
    pending: PendingSignIn,
    factor: Factor,
    { code, clientIp, meta }: { code: string; clientIp: string; meta: RequestMeta },
  ): Promise<IdentityUser | null> {
    const { identity, users, observer } = this.deps
    // An authenticator has nothing to send, so its challenge is made together with the answer.
    const challengeId = pending.challengeId ?? (await this.#challenge(pending, factor, clientIp, meta))
    if (challengeId === null) return null
    const answer = { factorId: factor.id, challengeId, code }
    const raised = await askIdentity(observer, meta, () =>
      identity.verifyFactor(pending.accessToken, answer, clientIp),
    )
    const user = raised && (await users.verify(raised.accessToken))
    return user?.accountId === pending.accountId ? user : null
  }

  #challenge(
    { accessToken }: PendingSignIn,
    { id }: Factor,
    clientIp: string,
    meta: RequestMeta,
  ): Promise<string | null> {
    const { identity, observer } = this.deps
    return askIdentity(observer, meta, () => identity.challengeFactor(accessToken, id, clientIp))
  }
}
