import { AppError } from '@signet/errors'
import { sha256 } from '../credentials/credential.js'
import { type Events } from '../events.js'
import {
  IdentityBusyError,
  IdentityUnavailableError,
  type IdentityClient,
  type PasswordSignIn,
} from '../identity/identity-client.js'
import { type UserJwtVerifier } from '../identity/user-jwt.js'
import { type OpenSession, type SessionService } from '../sessions/session-service.js'
import { type Session } from '../sessions/session-store.js'

/** Counts attempts of one identifier; taken before the attempt and given back when it succeeds. */
type FailureLimit = { consume(key: string): Promise<void>; refund(key: string): Promise<void> }

type Deps = {
  identity: IdentityClient
  users: UserJwtVerifier
  sessions: SessionService
  failures: FailureLimit
  events: Events
}

/** Signs people in through the identity server (webhooks contract B.8). */
export class SignInService {
  constructor(private readonly deps: Deps) {}

  /** The renewed session; null for wrong credentials, unconfirmed and banned users alike. */
  async withPassword(session: Session, input: PasswordSignIn, clientIp: string): Promise<OpenSession | null> {
    const { identity, failures, events } = this.deps
    const key = sha256(input.identifier.trim().toLowerCase()).toString('base64url')
    await failures.consume(key)
    const signedIn = await this.#askIdentity(() => identity.signInWithPassword(input, clientIp))
    const user = signedIn && (await this.deps.users.verify(signedIn.accessToken))
    if (!user) {
      events.login('refused')
      return null
    }
    await failures.refund(key)
    events.login('ok', { accountId: user.accountId })
    return this.deps.sessions.signIn(session, { id: user.accountId, email: user.email })
  }

  async #askIdentity<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call()
    } catch (error) {
      if (error instanceof IdentityBusyError) {
        this.deps.events.login('limited')
        throw new AppError(
          'limited',
          'too_many_requests',
          'Too many sign-ins. Please wait a little and try again.',
          {
            retryAfterSeconds: error.retryAfterSeconds,
          },
        )
      }
      if (error instanceof IdentityUnavailableError) {
        this.deps.events.login('unavailable')
        throw new AppError(
          'unavailable',
          'temporarily_unavailable',
          'Signing in is not possible right now. Go back and try again in a moment.',
          { cause: error, retryAfterSeconds: 5 },
        )
      }
      throw error
    }
  }
}
