import type { RequestMeta } from '@signet/telemetry'
import type { AccountService } from '../accounts/account-service.js'
import { sha256 } from '../credentials/credential.js'
import type { Observer } from '../observers/observer.js'
import type { IdentityClient, IdentitySession, PasswordSignIn } from '../identity/identity-client.js'
import { askIdentity } from '../identity/identity-outage.js'
import type { UserJwtVerifier } from '../identity/user-jwt.js'
import type { OpenSession, SessionService } from '../sessions/session-service.js'
import type { Session } from '../sessions/session-store.js'
import { limitFailures, type FailureLimit } from './failure-limit.js'
import type { SecondFactorService } from './second-factor-service.js'

/** `refused` says nothing of why: wrong, unknown, unconfirmed and banned look the same. */
export type SignInOutcome =
  { kind: 'signed_in'; session: OpenSession } | { kind: 'second_factor' } | { kind: 'refused' }

type Deps = {
  identity: IdentityClient
  users: UserJwtVerifier
  accounts: AccountService
  sessions: SessionService
  secondFactor: SecondFactorService
  failures: FailureLimit
  observer: Observer
}

const REFUSED: SignInOutcome = { kind: 'refused' }

/** Signs people in through the identity server (docs/specification.md#sign-in-and-consent). */
export class SignInService {
  constructor(private readonly deps: Deps) {}

  async withPassword(
    session: Session,
    input: PasswordSignIn,
    clientIp: string,
    meta: RequestMeta,
  ): Promise<SignInOutcome> {
    const { identity, failures, observer } = this.deps
    const key = sha256(input.identifier.trim().toLowerCase()).toString('base64url')
    return limitFailures(
      { limit: failures, key },
      async () =>
        this.#admit(
          session,
          await askIdentity(observer, meta, () => identity.signInWithPassword(input, clientIp)),
          meta,
        ),
      ({ kind }) => kind === 'refused',
    )
  }

  /** With a user JWT that the identity server handed to the browser: magic link, external provider. */
  async withToken(
    session: Session,
    accessToken: string,
    clientIp: string,
    meta: RequestMeta,
  ): Promise<SignInOutcome> {
    const { identity, observer } = this.deps
    if (!(await this.deps.users.verify(accessToken))) return this.#admit(session, null, meta)
    return this.#admit(
      session,
      await askIdentity(observer, meta, () => identity.findSession(accessToken, clientIp)),
      meta,
    )
  }

  /** Asks for a sign-in link by email. Nobody hears whether there is such an account. */
  async requestLink(
    email: string,
    { redirectTo, captchaToken }: { redirectTo: string; captchaToken?: string | undefined },
    clientIp: string,
    meta: RequestMeta,
  ): Promise<void> {
    const { identity, observer } = this.deps
    await askIdentity(observer, meta, () => identity.sendLink({ email, redirectTo, captchaToken }, clientIp))
  }

  async #admit(
    session: Session,
    identitySession: IdentitySession | null,
    meta: RequestMeta,
  ): Promise<SignInOutcome> {
    const { users, accounts, sessions, secondFactor, observer } = this.deps
    const user = identitySession && (await users.verify(identitySession.accessToken))
    if (!user || !(await accounts.admits(user))) {
      observer.login('refused', {}, meta)
      return REFUSED
    }
    const { accountId, email, issuedAt: authenticatedAt } = user
    if (identitySession.factors.length > 0 && !user.secondFactor) {
      return (await secondFactor.begin(session, accountId, identitySession, meta))
        ? { kind: 'second_factor' }
        : REFUSED
    }
    const renewed = await sessions.signIn(session, { id: accountId, email, authenticatedAt })
    observer.login('ok', { accountId }, meta)
    return renewed ? { kind: 'signed_in', session: renewed } : REFUSED
  }
}
