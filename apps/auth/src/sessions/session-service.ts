import type { Db, Queryable, Tx } from '@signet/db'
import { randomUUID } from 'node:crypto'
import type { AuditLog } from '../audit/audit-log.js'
import { auditPayload } from '../audit/audit.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { User } from '../users/user.js'
import type { UserStore } from '../users/user-store.js'
import type { RefreshTokens } from './refresh-token.js'
import { recordCancelled, type SessionEnds } from './session-ends.js'
import { sessionNotFound, userNotFound, type SessionGate } from './session-gate.js'
import type { SessionBoundsStore } from './session-bounds-store.js'
import type { PageSignIn, SessionStore } from './session-store.js'
import {
  MAX_OPEN_SESSIONS,
  type Aal,
  type Held,
  type Live,
  type Session,
  type SessionLimits,
  type SignedIn,
  type SignInMethod,
} from './session.js'
import { signedIn } from './stored-session.js'

type Deps = {
  db: Db
  sessions: SessionStore
  bounds: SessionBoundsStore
  ends: SessionEnds
  gate: SessionGate
  users: UserStore
  refreshTokens: RefreshTokens
  audit: AuditLog
  limits: SessionLimits
  /** How many networks an account knows. */
  knownNetworks: number
  now: () => Date
}

/** How a person signs in: the `amr` entry, the provider, and for a passkey which one it was and how strong. */
type Proof = { method: SignInMethod; aal: Aal; passkeyId: string | null; provider: string | null }

/** The user who signs in. Only the id counts: other data that was read before the session opens may be out of date. */
type Owner = Pick<User, 'id'>

type Opening = Proof & {
  user: Owner
  passwordHash: string | null
  auditRows: string | null
  countedIn: Buffer | null
}

const weak = (method: SignInMethod, provider: string | null = null): Proof => ({
  method,
  aal: 'aal1',
  passkeyId: null,
  provider,
})

export const logoutScopes = ['global', 'local', 'others'] as const
export type LogoutScope = (typeof logoutScopes)[number]

/** Opens, hands over and ends sessions. */
export class SessionService {
  constructor(private readonly deps: Deps) {}

  /**
   * Signs in a user whose password was verified, with audit action `login`. Null if the password has changed or the user may no longer sign
   * in: verifying a password takes long enough for either to happen. Both times, the guess that was counted is taken back.
   */
  async signIn(
    user: User,
    { method, provider, countedIn }: { method: SignInMethod; provider: string; countedIn: Buffer },
    meta: RequestMeta,
  ): Promise<SignedIn | null> {
    const { db, audit, limits } = this.deps
    const payloads = [auditPayload('login', user, { provider })]
    const { passwordHash } = user
    const auditRows = audit.rowsFor(payloads)
    const opening = { ...weak(method), user, passwordHash, auditRows, countedIn }
    const opened = limits.singlePerUser
      ? await db.transaction((tx) => this.#openAlone(tx, opening, meta))
      : await this.#open(db, opening, meta)
    if (opened !== null) audit.publish(payloads, meta)
    return opened
  }

  /** Opens a session as part of a larger change that writes the audit entries. */
  open(tx: Tx, user: Owner, method: Exclude<SignInMethod, 'oauth'>, meta: RequestMeta): Promise<SignedIn> {
    return this.#openFor(tx, user, weak(method), meta)
  }

  /** The same as {@link open}, with an account at a provider. */
  openByProvider(tx: Tx, user: Owner, provider: string, meta: RequestMeta): Promise<SignedIn> {
    return this.#openFor(tx, user, weak('oauth', provider), meta)
  }

  /** The same as {@link open}, with a passkey. With user verification it counts as two factors: the device, and what unlocks it. */
  openByPasskey(
    tx: Tx,
    user: Owner,
    { passkeyId, userVerified }: { passkeyId: string; userVerified: boolean },
    meta: RequestMeta,
  ): Promise<SignedIn> {
    return this.#openFor(
      tx,
      user,
      { method: 'passkey', aal: userVerified ? 'aal2' : 'aal1', passkeyId, provider: null },
      meta,
    )
  }

  /**
   * Opens a separate session for an application, from one that the sign-in pages keep. It has the same proofs and the same age: handing
   * over a sign-in neither strengthens nor prolongs it.
   */
  async openBeside(tx: Tx, { user, session: { id: besideId, createdAt } }: Held): Promise<SignedIn> {
    const { sessions, bounds, ends, refreshTokens, limits, now } = this.deps
    const id = randomUUID()
    const refreshSalt = refreshTokens.newSalt()
    await sessions.openBeside(tx, { id, besideId, notAfter: this.#endOf(createdAt), refreshSalt }, now())
    await bounds.makeRoom(tx, user.id, now(), besideId)
    if (limits.singlePerUser) await ends.others(tx, user.id, id, 'single_session')
    return this.#stored(tx, id)
  }

  /** The same as {@link openBeside}, in a separate transaction. */
  openBesideNow({ user, session }: Live): Promise<SignedIn> {
    const { db, gate } = this.deps
    return db.transaction(async (tx) =>
      this.openBeside(tx, await gate.hold(tx, { userId: user.id, sessionId: session.id })),
    )
  }

  keepOnPages({ id }: Pick<Session, 'id'>, signIn: PageSignIn): Promise<void> {
    return this.deps.sessions.keepOnPages(this.deps.db, id, signIn)
  }

  /** Ends the session of a person whom the pages forget, because someone else signs in there. */
  async leavePages({ user, session }: Live): Promise<void> {
    await this.deps.db.transaction((tx) => this.deps.ends.one(tx, user.id, session.id, 'logout'))
  }

  /** The sign-in result of a session that is already open. */
  resume(tx: Tx, { session }: Held): Promise<SignedIn> {
    return this.#stored(tx, session.id)
  }

  /** Signs out. A caller whose session has ended is already signed out, and ends no other session. */
  async logout(
    { user, session }: { user: User; session: Session },
    scope: LogoutScope,
    meta: RequestMeta,
  ): Promise<void> {
    const { audit, ends, gate, users } = this.deps
    await audit.transaction(meta, async (tx, record) => {
      if (scope === 'local') {
        const ended = await ends.one(tx, user.id, session.id, 'logout')
        // While this waited, the session may have ended because of a ban or a deletion.
        if (!ended) gate.admitUser(await users.findById(tx, user.id))
      } else {
        const held = await gate.hold(tx, { userId: user.id, sessionId: session.id })
        const ended =
          scope === 'others'
            ? await ends.others(tx, user.id, session.id, 'logout')
            : await ends.all(tx, user.id, 'logout')
        recordCancelled(record, held.user, ended)
      }
      record('logout', user, scope === 'local' ? undefined : { scope })
    })
  }

  async #openFor(tx: Tx, user: Owner, proof: Proof, meta: RequestMeta): Promise<SignedIn> {
    const opening = { ...proof, user, passwordHash: null, auditRows: null, countedIn: null }
    const { gate, users, limits } = this.deps
    const opened = await (limits.singlePerUser
      ? this.#openAlone(tx, opening, meta)
      : this.#open(tx, opening, meta))
    if (opened !== null) return opened
    gate.admitUser(await users.findById(tx, user.id))
    throw userNotFound()
  }

  /**
   * Opens a session and ends all others. The user's row is locked once the session is open, so the second of two concurrent sign-ins sees
   * the first.
   */
  async #openAlone(tx: Tx, opening: Opening, meta: RequestMeta): Promise<SignedIn | null> {
    const opened = await this.#open(tx, opening, meta)
    if (opened !== null) await this.deps.ends.others(tx, opening.user.id, opened.session.id, 'single_session')
    return opened
  }

  async #stored(tx: Tx, id: string): Promise<SignedIn> {
    const found = await this.deps.sessions.find(tx, id)
    if (found === null) throw sessionNotFound()
    return signedIn(this.deps.refreshTokens, found)
  }

  async #open(
    db: Queryable,
    { user, method, aal, passkeyId, provider, passwordHash, auditRows, countedIn }: Opening,
    meta: RequestMeta,
  ): Promise<SignedIn | null> {
    const { sessions, bounds, refreshTokens } = this.deps
    const now = this.deps.now()
    const found = await sessions.open(
      db,
      {
        id: randomUUID(),
        aal,
        userId: user.id,
        method,
        passkeyId,
        provider,
        userAgent: meta.userAgent,
        ip: meta.ip,
        network: meta.client.key,
        notAfter: this.#endOf(now),
        refreshSalt: refreshTokens.newSalt(),
        passwordHash,
        auditRows,
        countedIn,
        knownNetworks: this.deps.knownNetworks,
      },
      now,
    )
    if (found === null) return null
    if (found.beside >= MAX_OPEN_SESSIONS) await bounds.makeRoom(db, user.id, now)
    return signedIn(refreshTokens, found.opened)
  }

  #endOf(createdAt: Date): Date | null {
    const { timeboxMs } = this.deps.limits
    return timeboxMs === undefined ? null : new Date(createdAt.getTime() + timeboxMs)
  }
}
