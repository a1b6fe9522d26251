import { isAppError } from '@signet/errors'
import { JwtError, type JwtClaims } from '@signet/jwt'
import type { Request } from 'express'
import { programOf, type Admin } from '../administrators/admin.js'
import { authError } from '../errors/auth-error.js'
import { requireStrong, sessionNotFound, type SessionGate } from '../sessions/session-gate.js'
import type { FoundCaller, TokenHolder } from '../sessions/session-store.js'
import type { Live, Session } from '../sessions/session.js'
import type { User } from '../users/user.js'
import { isUuid, NIL_UUID } from '../users/uuid.js'
import type { Audiences } from '../requests/audiences.js'
import { gated, type Gated } from './gates.js'
import type { VerifiedTokens } from './verified-tokens.js'
import { isVersioned } from '../requests/versioning.js'

/** The user behind a bearer token. `aud` is the audience of the request. */
export type Reader = { user: User; session: Session | null; claims: Readonly<JwtClaims>; aud: string }
/** The same for a token of a session, which may have ended. */
export type Leaver = Reader & { session: Session }
/** A caller that passed the session gate: may read or change data. */
export type Caller = Live & { claims: Readonly<JwtClaims>; aud: string }

type FindCaller = (holder: TokenHolder) => Promise<FoundCaller | null>

type Deps = {
  tokens: VerifiedTokens
  findCaller: FindCaller
  gate: SessionGate
  adminRoles: readonly string[]
  audiences: Audiences
  /** Refuses sessions that need a more recent proof. */
  requireRecentProof: (live: Live) => Promise<void>
  now: () => Date
}

/** Reads bearer tokens. Each of the `authenticate` steps is a gate that routes declare. */
export class Bearer {
  constructor(private readonly deps: Deps) {}

  /** Reads what belongs to the user. A token of a signed-out session may still do so until it expires. */
  readonly read: Gated<Reader> = gated('read', async (req) => {
    const reader = await this.#reader(req)
    const { session, claims } = reader
    const reason = session?.revokedReason ?? null
    // The specification lets the token of a signed-out session read. Clients that name an API version expect a refusal.
    if (reason !== null && (reason !== 'logout' || isVersioned(req))) throw sessionNotFound()
    if (session === null && sessionOf(claims) !== null) throw sessionNotFound()
    this.deps.gate.requireKept(reader.user)
    return reader
  })

  /** Signs out, even if the session has already ended. A token that names no session must not end any. */
  readonly signOut: Gated<Leaver> = gated('sign_out', async (req) => {
    const { session, ...reader } = await this.#reader(req)
    if (session === null) throw sessionNotFound()
    return { ...reader, session }
  })

  /** Everything else that users do. */
  readonly change: Gated<Caller> = gated('change', (req) => this.#caller(req))

  /** Changes to sign-in methods; they require a second factor once the user has one. */
  readonly changeStrongly: Gated<Caller> = gated('change_strongly', async (req) => {
    const caller = await this.#caller(req)
    requireStrong(caller)
    return caller
  })

  /** The same gate for routes that add a way to sign in. Some sessions need a recent proof for that (decision 0224). */
  toAddWayIn<Changing extends Caller>(outer: Gated<Changing>): Gated<Changing> {
    const step = async (req: Request) => {
      const caller = await outer(req)
      await this.deps.requireRecentProof(caller)
      return caller
    }
    return Object.assign(gated(outer.gate, step), { addsWayIn: true })
  }

  /**
   * Administrators: any of `roles`, by default the admin roles. A user's token counts with the role the user has now;
   * a token without a user, which operators make, with the role it names.
   */
  admin(roles: readonly string[] = this.deps.adminRoles): Gated<Admin> {
    const require = (live: Live) => {
      if (!roles.includes(live.user.role)) throw notAdmin()
      requireStrong(live)
    }
    return gated('admin', async (req) => {
      const claims = await this.#claims(req)
      const aud = this.#audience(req, claims)
      if (isOfUser(claims)) {
        const live = await this.#caller(req)
        require(live)
        return { aud, live, require, isNamed: false }
      }
      const role = roleOf(claims)
      if (!roles.includes(role)) throw notAdmin()
      return programOf({ aud, role })
    })
  }

  /** The audience of a public request. An invalid bearer token counts as none. */
  async audience(req: Request): Promise<string> {
    const token = tokenOf(req)
    const claims = token === null ? undefined : await this.deps.tokens.verify(token).catch(() => undefined)
    return this.#audience(req, claims)
  }

  /** The user of a public request, if its token belongs to a live session. Null without a token, or with an invalid one. */
  async userOf(req: Request): Promise<User | null> {
    if (tokenOf(req) === null) return null
    try {
      return (await this.#caller(req)).user
    } catch (error) {
      if (isAppError(error) && error.kind !== 'internal' && error.kind !== 'unavailable') return null
      throw error
    }
  }

  /** Whether a public request comes from an administrator, who needs no CAPTCHA. */
  async isAdmin(req: Request): Promise<boolean> {
    if (tokenOf(req) === null) return false
    try {
      await this.admin()(req)
      return true
    } catch (error) {
      if (isAppError(error)) return false
      throw error
    }
  }

  async #reader(req: Request): Promise<Reader> {
    const claims = await this.#claims(req)
    const found = await this.#find(claims)
    const user = this.deps.gate.admitUser(found?.user ?? null)
    return { user, session: found?.session ?? null, claims, aud: this.#audience(req, claims) }
  }

  async #caller(req: Request): Promise<Caller> {
    const claims = await this.#claims(req)
    const live = this.deps.gate.admit(await this.#find(claims))
    return { ...live, claims, aud: this.#audience(req, claims) }
  }

  #find(claims: JwtClaims): ReturnType<FindCaller> {
    if (this.deps.audiences.of(claims) === undefined) throw badJwt('invalid claim: missing aud claim')
    return this.deps.findCaller({ userId: subjectOf(claims), sessionId: sessionOf(claims) })
  }

  #audience(req: Request, claims: JwtClaims | undefined): string {
    const { audiences, adminRoles } = this.deps
    const requested = audiences.requested(req)
    if (requested !== undefined) return requested
    if (claims === undefined || adminRoles.includes(roleOf(claims))) return audiences.standard
    return audiences.of(claims) ?? audiences.standard
  }

  async #claims(req: Request): Promise<Readonly<JwtClaims>> {
    const token = tokenOf(req)
    if (token === null)
      throw authError('unauthenticated', 'no_authorization', 'This endpoint requires a valid Bearer token')
    const claims = await this.deps.tokens.verify(token).catch((error: unknown) => {
      if (!(error instanceof JwtError)) throw error
      throw badJwt(`invalid JWT: unable to parse or verify signature, ${error.message}`)
    })
    if (this.deps.audiences.isForOthers(claims))
      throw badJwt('invalid JWT: the token is for another audience')
    return claims
  }
}

function tokenOf(req: Request): string | null {
  return /^bearer +(\S+)$/i.exec(req.get('authorization') ?? '')?.[1] ?? null
}

const badJwt = (message: string) => authError('forbidden', 'bad_jwt', message)
const notAdmin = () => authError('forbidden', 'not_admin', 'User not allowed')

const isOfUser = (claims: JwtClaims): boolean =>
  (claims.sub !== undefined && claims.sub !== '') || sessionOf(claims) !== null

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
