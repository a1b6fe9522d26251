import { Batches, isDeadlock, isLockTimeout, type Db, type Queryable } from '@signet/db'
import type { AuditLog } from '../audit/audit-log.js'
import { auditPayload } from '../audit/audit.js'
import { authError, deletionPending, invalid, userBanned } from '../errors/auth-error.js'
import type { Observer } from '../observers/observer.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { RefreshStore } from './refresh-store.js'
import type { PresentedToken, RefreshTokens } from './refresh-token.js'
import { recordCancelled, type SessionEnds } from './session-ends.js'
import { limitTimesAt, type SessionLimits, type SignedIn, type StoredSession } from './session.js'
import { signedIn } from './stored-session.js'
import type { UserStore } from '../users/user-store.js'

type Deps = {
  db: Db
  store: RefreshStore
  users: UserStore
  ends: Pick<SessionEnds, 'voidUnfinished'>
  refreshTokens: RefreshTokens
  audit: AuditLog
  observer: Observer
  limits: SessionLimits
  /** AUTH_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED and _REUSE_INTERVAL. */
  rotation: boolean
  reuseIntervalMs: number
  audited: boolean
  now: () => Date
}

/** The session may change between the two statements. A client that runs into this repeatedly can retry. */
const MAX_ROUNDS = 4

/** If an exchange takes longer, because the database stalls, its client may have given up in the meantime. */
const SLOW_MS = 1000

type Request = { presented: PresentedToken; meta: RequestMeta }

/**
 * Exchanges refresh tokens. The current token advances its session. The previous token gets the same child again within the reuse interval,
 * so that two tabs do not sign each other out. An older token means that two parties hold the tokens, and ends the session. With rotation
 * off, old tokens are refused without ending anything.
 */
export class RefreshService {
  readonly #batches: Batches<Request, StoredSession | undefined>

  constructor(private readonly deps: Deps) {
    this.#batches = new Batches({
      underWay: 1,
      keysOf: ({ presented }) => [presented.sessionId],
      send: async (requests) => {
        const found = await this.#exchange(requests, 'passing')
        return requests.map(({ presented }) => found.get(presented.sessionId))
      },
    })
  }

  async refresh(text: string, meta: RequestMeta): Promise<SignedIn> {
    const presented = this.deps.refreshTokens.read(text)
    if (presented === null) throw invalid('Refresh token is not valid')
    try {
      return await this.#tryOften({ presented, meta })
    } catch (error) {
      throw isLockTimeout(error) || isDeadlock(error) ? sessionBusy(error) : error
    }
  }

  async #tryOften(request: Request): Promise<SignedIn> {
    const begunAt = this.deps.now()
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const found =
        round === 0
          ? await this.#batches.add(request)
          : (await this.#exchange([request], 'waiting')).get(request.presented.sessionId)
      if (found) {
        await this.#advanced(request, found, begunAt)
        return round === 0 ? signedIn(this.deps.refreshTokens, found) : this.#afterWaiting(found)
      }
      const sameChild = await this.#checkReuse(request)
      if (sameChild !== null) return sameChild
    }
    throw sessionBusy()
  }

  #exchange(requests: readonly Request[], how: 'waiting' | 'passing'): Promise<Map<string, StoredSession>> {
    const { db, store, refreshTokens, now } = this.deps
    const nonce = refreshTokens.newNonce()
    const exchanges = requests.map((request) => this.#exchangeOf(request, nonce))
    const at = now()
    return store.exchange(db, { exchanges, nonce, how }, this.#rulesAt(at), at)
  }

  async #advanced({ presented, meta }: Request, found: StoredSession, begunAt: Date): Promise<void> {
    const { user } = found
    // The statement has already written these entries to the table.
    this.deps.audit.publish(
      [auditPayload('token_refreshed', user), auditPayload('token_revoked', user)],
      meta,
    )
    await this.#restartInterval(presented, begunAt, meta)
  }

  /** Reads the user again: a role that was removed while this waited for the session must not be in the token. */
  async #afterWaiting(found: StoredSession): Promise<SignedIn> {
    const { db, store, refreshTokens } = this.deps
    const current = await store.withUserOfNow(db, found)
    if (current === null) throw notFound()
    return signedIn(refreshTokens, current)
  }

  /**
   * Counts the reuse interval from the end of a slow exchange instead of its beginning. A client that got a 504 has only the old token,
   * and needs the whole interval to try again. If this update fails, a client that is still waiting gets the new token anyway.
   */
  async #restartInterval(
    { sessionId, counter }: PresentedToken,
    begunAt: Date,
    meta: RequestMeta,
  ): Promise<void> {
    const { db, store, observer, now } = this.deps
    const at = now()
    if (at.getTime() - begunAt.getTime() < SLOW_MS) return
    try {
      await store.restartInterval(db, { sessionId, counter: counter + 1 }, at)
    } catch (error) {
      observer.reuseIntervalKept(sessionId, error, meta)
    }
  }

  /** The answer for a token that is no longer current; null if the session can be advanced after all. */
  async #checkReuse(request: Request): Promise<SignedIn | null> {
    const { db, audit, observer } = this.deps
    const { meta } = request
    const seen = await this.#verdictOn(db, request, { ends: false })
    const checked = seen?.verdict === 'reuse' ? await this.#endForReuse(request, seen.found) : seen
    if (checked === null) throw notFound()
    const { found, verdict } = checked
    switch (verdict) {
      case 'changed':
        return null
      case 'same_child':
        return this.#afterWaiting(found)
      case 'banned':
        throw userBanned('invalid')
      case 'deletion_pending':
        throw deletionPending()
      case 'expired':
        throw authError('invalid', 'session_expired', 'Invalid Refresh Token: Session Expired')
      case 'reuse':
        observer.refreshTokenReused(found.session.id, found.user.id, meta)
        audit.publish(
          [auditPayload('session_revoked', found.user, { session_id: found.session.id, reason: 'reuse' })],
          meta,
        )
        throw alreadyUsed()
      case 'already_used':
        throw alreadyUsed()
      case 'unknown':
        throw notFound()
    }
  }

  #verdictOn(tx: Queryable, request: Request, { ends }: { ends: boolean }) {
    const { store, refreshTokens, rotation, reuseIntervalMs, now } = this.deps
    const at = now()
    const nonce = refreshTokens.newNonce()
    const advancedAfter = new Date(at.getTime() - reuseIntervalMs)
    const rules = { ...this.#rulesAt(at), rotation, advancedAfter, ends }
    return store.checkReuse(tx, this.#exchangeOf(request, nonce), nonce, rules, at)
  }

  /**
   * Ends the session, and voids what it began, because that could lead back into the account. The transaction commits although the request
   * fails.
   */
  #endForReuse(request: Request, { user }: StoredSession) {
    const { audit, users, ends } = this.deps
    return audit.transaction(request.meta, async (tx, record) => {
      const locked = await users.lockById(tx, user.id)
      const checked = await this.#verdictOn(tx, request, { ends: true })
      if (checked?.verdict === 'reuse' && locked !== null)
        recordCancelled(record, locked, await ends.voidUnfinished(tx, user.id))
      return checked
    })
  }

  #exchangeOf({ presented, meta }: Request, nonce: Buffer) {
    const check = this.deps.refreshTokens.check(presented, nonce)
    return { presented, check, userAgent: meta.userAgent, ip: meta.ip }
  }

  #rulesAt(at: Date) {
    return { ...limitTimesAt(at, this.deps.limits), audited: this.deps.audited }
  }
}

/** Returns 503 instead of the usual 409 for a locked row: clients of this protocol retry after a 503, but drop the session after a 409. */
const sessionBusy = (cause?: unknown) =>
  authError('unavailable', 'unavailable', 'The session is being changed by another request, try again', {
    cause,
    retryAfterSeconds: 1,
  })

const notFound = () =>
  authError('invalid', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found')

const alreadyUsed = () =>
  authError('invalid', 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
