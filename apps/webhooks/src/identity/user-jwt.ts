import { JwtError, verifyJwt, type JwtClaims, type KeySource } from '@signet/jwt'
import { isUuid } from '../text/uuid.js'

/** An ordinary signed-in user of the identity server. */
export type IdentityUser = {
  readonly accountId: string
  readonly email: string
  /** The session that the token belongs to, if it names one. */
  readonly sessionId: string | null
  readonly issuedAt: Date
  /** When the person proved who they are. The session may have been refreshed since. */
  readonly provedAt: Date
  /** True if the session of the token includes a second factor. */
  readonly secondFactor: boolean
}

const CLOCK_SKEW_SECONDS = 30

type Options = {
  keys: KeySource
  audience: string
  issuer?: string | undefined
  roles: readonly string[]
  now: () => Date
}

/** Verifies user JWTs of the identity server (docs/specification.md#sign-in-and-consent). */
export class UserJwtVerifier {
  constructor(private readonly options: Options) {}

  /** Returns null for every token that must not be trusted, or that is not an ordinary user's. Throws if the keys are unavailable. */
  async verify(token: string): Promise<IdentityUser | null> {
    const { keys, audience, issuer, now } = this.options
    try {
      const claims = await verifyJwt(keys, token, {
        audience,
        ...(issuer === undefined ? {} : { issuer }),
        requireExp: true,
        clockSkewSeconds: CLOCK_SKEW_SECONDS,
        now,
      })
      return this.#user(claims)
    } catch (error) {
      if (error instanceof JwtError) return null
      throw error
    }
  }

  #user(claims: JwtClaims): IdentityUser | null {
    const { sub = '', iat, session_id: sessionId } = claims
    const isOrdinary =
      typeof claims['role'] === 'string' &&
      this.options.roles.includes(claims['role']) &&
      claims['is_anonymous'] !== true
    if (!isUuid(sub) || iat === undefined || !isOrdinary) return null
    return {
      accountId: sub.toLowerCase(),
      email: typeof claims['email'] === 'string' ? claims['email'] : '',
      sessionId: typeof sessionId === 'string' && isUuid(sessionId) ? sessionId : null,
      issuedAt: new Date(iat * 1000),
      provedAt: new Date(firstProof(claims['amr'], iat) * 1000),
      secondFactor: claims['aal'] === 'aal2',
    }
  }
}

/** The oldest `timestamp` of the `amr` entries, in Unix seconds: every factor of the sign-in is at least as fresh. */
function firstProof(amr: unknown, issuedAt: number): number {
  const entries = Array.isArray(amr) ? (amr as { timestamp?: unknown }[]) : []
  const times = entries.map((entry) => entry?.timestamp).filter((time) => typeof time === 'number')
  return times.length === 0 ? issuedAt : Math.min(issuedAt, ...times)
}
