import { JwtError, type JwtClaims } from '@signet/jwt'
import { type Request } from 'express'
import { authError, invalid, userBanned } from '../errors/auth-error.js'
import { isBanned, MAX_NAME_LENGTH, type User } from '../users/user.js'
import { isUuid, NIL_UUID } from '../users/uuid.js'
import { type Session } from '../sessions/session.js'
import { type VerifiedTokens } from './verified-tokens.js'
import { isVersioned } from './versioning.js'

/** Who sent a user's bearer token. `aud` is the audience of the request (contract 0.5). */
export type Caller = { user: User; session: Session | null; claims: Readonly<JwtClaims>; aud: string }
export type AdminCaller = { role: string; aud: string }

type FindCaller = (
  userId: string,
  sessionId: string | null,
) => Promise<{ user: User; session: Session | null } | null>

type Deps = {
  tokens: VerifiedTokens
  findCaller: FindCaller
  /** The session of an admin token that names one; throws when it has ended. */
  checkAdminSession: (sessionId: string) => Promise<void>
  adminRoles: readonly string[]
  defaultAud: string
  now: () => Date
}

/** What a token of a logged-out session may still do (contract 4.5): nothing, all, or what the API version says. */
export type RevokedSessions = 'refuse' | 'accept' | 'by_version'

/** Reads bearer tokens; the errors are those of contract 1.0. */
export class Bearer {
  constructor(private readonly deps: Deps) {}

  /** An `authenticate` step for routes of users. */
  user =
    (revoked: RevokedSessions = 'refuse') =>
    async (req: Request): Promise<Caller> => {
      const claims = await this.#claims(req)
      const userId = subjectOf(claims)
      const sessionId = sessionOf(claims)
      const found = await this.deps.findCaller(userId, sessionId)
      if (found === null || found.user.deletedAt !== null)
        throw authError('forbidden', 'user_not_found', 'User from sub claim in JWT does not exist')
      const { user, session } = found
      if (sessionId !== null && (session === null || (session.revokedAt !== null && refuses(revoked, req))))
        throw authError(
          'forbidden',
          'session_not_found',
          'Session from session_id claim in JWT does not exist',
        )
      if (isBanned(user, this.deps.now())) throw userBanned('forbidden')
      return { user, session, claims, aud: this.#audience(req, claims) }
    }

  /** An `authenticate` step for routes of administrators: any of `roles`, by default the admin roles. */
  admin =
    (roles: readonly string[] = this.deps.adminRoles) =>
    async (req: Request): Promise<AdminCaller> => {
      const claims = await this.#claims(req)
      const role = roleOf(claims)
      if (!roles.includes(role)) throw authError('forbidden', 'not_admin', 'User not allowed')
      const sessionId = sessionOf(claims)
      if (sessionId !== null) await this.deps.checkAdminSession(sessionId)
      return { role, aud: this.#audience(req, claims) }
    }

  /** Audience of a public request; a bearer token that is not valid counts as none. */
  async audience(req: Request): Promise<string> {
    return this.#audience(req, await this.#optionalClaims(req))
  }

  /** Whether a public request comes with an admin token, which needs no CAPTCHA. */
  async isAdmin(req: Request): Promise<boolean> {
    const claims = await this.#optionalClaims(req)
    return claims !== undefined && this.deps.adminRoles.includes(roleOf(claims))
  }

  #audience(req: Request, claims: JwtClaims | undefined): string {
    const header = req.get('x-jwt-aud')
    if (header !== undefined && header !== '') {
      if (header.length > MAX_NAME_LENGTH) throw invalid('X-JWT-AUD is too long')
      return header
    }
    if (claims === undefined || this.deps.adminRoles.includes(roleOf(claims))) return this.deps.defaultAud
    return firstAudience(claims) ?? this.deps.defaultAud
  }

  async #claims(req: Request): Promise<Readonly<JwtClaims>> {
    const token = tokenOf(req)
    if (token === null)
      throw authError('unauthenticated', 'no_authorization', 'This endpoint requires a valid Bearer token')
    try {
      return await this.deps.tokens.verify(token)
    } catch (error) {
      if (!(error instanceof JwtError)) throw error
      throw badJwt(`invalid JWT: unable to parse or verify signature, ${error.message}`)
    }
  }

  async #optionalClaims(req: Request): Promise<Readonly<JwtClaims> | undefined> {
    const token = tokenOf(req)
    if (token === null) return undefined
    return this.deps.tokens.verify(token).catch(() => undefined)
  }
}

function tokenOf(req: Request): string | null {
  return /^bearer +(\S+)$/i.exec(req.get('authorization') ?? '')?.[1] ?? null
}

const badJwt = (message: string) => authError('forbidden', 'bad_jwt', message)

function subjectOf({ sub }: JwtClaims): string {
  if (sub === undefined || sub === '') throw badJwt('invalid claim: missing sub claim')
  if (!isUuid(sub)) throw authError('invalid', 'bad_jwt', 'invalid claim: sub claim must be a UUID')
  return sub
}

function sessionOf({ session_id: sessionId }: JwtClaims): string | null {
  if (sessionId === undefined || sessionId === null || sessionId === '' || sessionId === NIL_UUID) return null
  if (typeof sessionId !== 'string' || !isUuid(sessionId))
    throw badJwt('invalid claim: session_id claim must be a UUID')
  return sessionId
}

const roleOf = ({ role }: JwtClaims): string => (typeof role === 'string' ? role : '')

const firstAudience = ({ aud }: JwtClaims): string | undefined => (typeof aud === 'string' ? aud : aud?.[0])

/** Whether a token is meant for an audience; one without `aud` is for none. */
export const isMeantFor = ({ aud }: JwtClaims, wanted: string): boolean =>
  typeof aud === 'string' ? aud === wanted : (aud ?? []).includes(wanted)

const refuses = (revoked: RevokedSessions, req: Request): boolean =>
  revoked === 'refuse' || (revoked === 'by_version' && isVersioned(req))
