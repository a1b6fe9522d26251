import { type Db } from '@signet/db'
import { type AuditLog } from '../audit/audit-log.js'
import { auditPayload } from '../audit/audit.js'
import { authError, invalid, userBanned } from '../errors/auth-error.js'
import { type Events } from '../events.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type RefreshStore } from './refresh-store.js'
import { type RefreshTokens } from './refresh-token.js'
import { type SessionLimits, type SignedIn } from './session.js'

type Deps = {
  db: Db
  store: RefreshStore
  refreshTokens: RefreshTokens
  audit: AuditLog
  events: Events
  limits: SessionLimits
  /** AUTH_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED and _REUSE_INTERVAL. */
  rotation: boolean
  reuseIntervalMs: number
  audited: boolean
  now: () => Date
}

// Each round means that a parallel request moved the session on; a client with that many at once can try again.
const MAX_JUDGEMENTS = 5

/** Swaps refresh tokens (contract 4.2): one round trip, two when the token is not active. */
export class RefreshService {
  constructor(private readonly deps: Deps) {}

  async refresh(text: string, meta: RequestMeta): Promise<SignedIn> {
    const { db, store, refreshTokens, audited, now } = this.deps
    const hash = refreshTokens.hashOf(text)
    if (hash === null) throw invalid('Refresh token is not valid')
    const child = refreshTokens.create()
    const at = now()
    const found = await store.exchange(
      db,
      { hash, child, limits: this.#limitsAt(at), userAgent: meta.userAgent, ip: meta.ip, audited },
      at,
    )
    if (found === null) throw notFound()
    switch (found.verdict) {
      case 'rotated':
        // The statement has written the same entries itself.
        this.deps.audit.announce(
          [auditPayload('token_refreshed', found.user), auditPayload('token_revoked', found.user)],
          meta,
        )
        return { ...found, refreshToken: child.text }
      case 'banned':
        throw userBanned('invalid')
      case 'expired':
        throw authError('invalid', 'session_expired', 'Invalid Refresh Token: Session Expired')
      case 'not_active':
        return this.#judge(hash, meta)
    }
  }

  async #judge(hash: Buffer, meta: RequestMeta): Promise<SignedIn> {
    const { db, store, refreshTokens, audit, events, rotation, reuseIntervalMs, audited, now } = this.deps
    for (let round = 0; round < MAX_JUDGEMENTS; round += 1) {
      const at = now()
      const revokedAfter = new Date(at.getTime() - reuseIntervalMs)
      const found = await store.judgeReuse(db, { hash, revokedAfter, rotation, ip: meta.ip, audited }, at)
      if (found === null) throw notFound()
      if (found.verdict === 'changed') continue
      if (found.verdict === 'same_child' && found.childId !== null)
        return { ...found, refreshToken: refreshTokens.ofRow(found.childId).text }
      if (found.verdict === 'attack') {
        // Without an active token the session was over before: a client that missed the logout is no attack.
        if (found.childId !== null) {
          events.refreshTokenReused(found.session.id, found.user.id, meta)
          audit.announce([auditPayload('token_revoked', found.user)], meta)
        }
      }
      throw authError('invalid', 'refresh_token_already_used', 'Invalid Refresh Token: Already Used')
    }
    throw authError('conflict', 'conflict', 'Too many concurrent token refresh requests on the same session')
  }

  #limitsAt(now: Date) {
    const before = (ms: number | undefined) => (ms === undefined ? null : new Date(now.getTime() - ms))
    const { limits } = this.deps
    return {
      createdAfter: before(limits.timeboxMs),
      activeAfter: before(limits.inactivityMs),
      lowAalCreatedAfter: before(limits.lowAalMs),
      singlePerUser: limits.singlePerUser,
    }
  }
}

const notFound = () =>
  authError('invalid', 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found')
