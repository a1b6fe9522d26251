import { signJwt } from '@signet/jwt'
import type { LiveKeys } from '../keys/live-keys.js'
import { hasVerifiedFactor } from '../users/user.js'
import { deletionPending } from '../errors/auth-error.js'
import type { SignedIn } from './session.js'

export type AccessToken = { readonly text: string; readonly expiresIn: number; readonly expiresAt: number }

type Options = {
  keys: Pick<LiveKeys, 'forSigning'>
  issuer: string
  /** In whole seconds. */
  lifeSeconds: number
  /** AUTH_SESSIONS_ALLOW_LOW_AAL in milliseconds. */
  lowAalMs: number | undefined
}

/** Signs access tokens (docs/specification.md#claims). */
export class AccessTokens {
  constructor(private readonly options: Options) {}

  async issue({ user, session, amr }: Omit<SignedIn, 'refreshToken'>, now: Date): Promise<AccessToken> {
    // All access tokens are made here, so nothing can use the account until its owner keeps it.
    if (user.deletionDueAt !== null) throw deletionPending()
    const iat = Math.floor(now.getTime() / 1000)
    const exp = Math.min(iat + this.options.lifeSeconds, this.#lowAalEnd({ user, session }))
    const text = await signJwt(await this.options.keys.forSigning(), {
      iss: this.options.issuer,
      sub: user.id,
      aud: user.aud,
      exp,
      iat,
      email: user.email ?? '',
      phone: user.phone ?? '',
      app_metadata: user.appMetadata,
      user_metadata: user.userMetadata,
      role: user.role,
      aal: session.aal,
      amr: amr.map(({ method, at }) => ({ method, timestamp: Math.floor(at.getTime() / 1000) })),
      session_id: session.id,
      is_anonymous: user.isAnonymous,
    })
    return { text, expiresIn: exp - iat, expiresAt: exp }
  }

  // A user who has a second factor but has not used it gets no token once the time allowed without it is over.
  #lowAalEnd({ user, session }: Pick<SignedIn, 'user' | 'session'>): number {
    const { lowAalMs } = this.options
    if (lowAalMs === undefined || session.aal !== 'aal1' || !hasVerifiedFactor(user)) return Infinity
    return Math.floor((session.createdAt.getTime() + lowAalMs) / 1000)
  }
}
