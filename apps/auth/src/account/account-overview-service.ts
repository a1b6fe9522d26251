import type { Db } from '@signet/db'
import type { AuditEntry, AuditListStore } from '../admin/audit-list-store.js'
import type { AuditLog } from '../audit/audit-log.js'
import type { RecoveryCodeStore } from '../factors/recovery-code-store.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { NOTHING_ELSE, recordCancelled, type Ended, type SessionEnds } from '../sessions/session-ends.js'
import type { SessionGate } from '../sessions/session-gate.js'
import type { Listed, OpenSignIn, SessionListStore } from '../sessions/session-list-store.js'
import type { UserStore } from '../users/user-store.js'
import { limitTimesAt, type Live, type SessionLimits } from '../sessions/session.js'
import { userView } from '../users/user-view.js'
import { NIL_UUID } from '../users/uuid.js'
import type { CredentialStore } from '../webauthn/credential-store.js'
import { activityOf, SHOWN_ACTIONS, type ShownActivity } from './shown-activity.js'

type Deps = {
  db: Db
  users: UserStore
  lists: SessionListStore
  entries: AuditListStore
  recoveryCodes: RecoveryCodeStore
  credentials: CredentialStore
  gate: SessionGate
  ends: SessionEnds
  audit: AuditLog
  limits: SessionLimits
  now: () => Date
}

const RECENT = 30
/** Sign-ins that the page shows. */
const SHOWN_SIGN_INS = 50
/** The most audit entries in an export; older ones are left out. */
const EXPORTED_ENTRIES = 10_000
const EXPORTED_SESSIONS = 1000

/** Shows a person what the service stores about them (docs/specification.md#the-account-page). */
export class AccountOverviewService {
  constructor(private readonly deps: Deps) {}

  /**
   * The newest sign-ins with an open session, always including `wanted`, and how many there are. To people, a sign-in and the sessions that
   * applications got through it are one entry.
   */
  async openSignIns(userId: string, wanted: string | null): Promise<Listed<OpenSignIn>> {
    const { db, lists, limits, now } = this.deps
    const at = now()
    return lists.open(db, { userId, wanted, limit: SHOWN_SIGN_INS }, limitTimesAt(at, limits), at)
  }

  /** Signs out one of the caller's sign-ins; null if it belongs to someone else or has ended. */
  async endSignIn(caller: Live, signInId: string, meta: RequestMeta): Promise<Ended | null> {
    const { audit, gate, ends } = this.deps
    return audit.transaction(meta, async (tx, record) => {
      const ids = { userId: caller.user.id, sessionId: caller.session.id }
      const held = await gate.hold(tx, ids, { whilePending: true })
      const isOwn = signInId === held.session.signInId
      const ended = isOwn
        ? (await ends.signIn(tx, held.user.id, signInId, 'logout')) && NOTHING_ELSE
        : await ends.otherSignIn(tx, held.user.id, signInId, 'logout')
      if (!ended) return null
      record('logout', held.user, isOwn ? undefined : { session_id: signInId })
      recordCancelled(record, held.user, ended)
      return ended
    })
  }

  /**
   * Signs out the applications of a sign-in whose session on the pages has ended. The request only needs the browser's cookie, because
   * all it can do with it is sign out. False when there is nothing to sign out.
   */
  async endLeftBehind(userId: string, signInId: string, meta: RequestMeta): Promise<boolean> {
    const { audit, users, ends } = this.deps
    return audit.transaction(meta, async (tx, record) => {
      const user = await users.lockById(tx, userId)
      const ended = user !== null && (await ends.signIn(tx, userId, signInId, 'logout'))
      if (ended) record('logout', user)
      return ended
    })
  }

  /** Signs out all other sign-ins of the caller. */
  async endOtherSignIns(caller: Live, meta: RequestMeta): Promise<Ended> {
    const { audit, gate, ends } = this.deps
    return audit.transaction(meta, async (tx, record) => {
      const { user, session } = await gate.hold(tx, {
        userId: caller.user.id,
        sessionId: caller.session.id,
      })
      const ended = await ends.otherSignIns(tx, user.id, session.signInId, 'logout')
      record('logout', user, { scope: 'others' })
      recordCancelled(record, user, ended)
      return ended
    })
  }

  async recentActivity(userId: string): Promise<ShownActivity[]> {
    const entries = await this.deps.entries.about(this.deps.db, userId, SHOWN_ACTIONS, RECENT)
    return entries.map((entry) => activityOf(entry, userId)).filter((shown) => shown !== null)
  }

  /** Exports everything as JSON, except secrets, hashes and codes. */
  async export({ user }: Live) {
    const { db, lists, entries, recoveryCodes, credentials, now } = this.deps
    const [held, log, codes, passkeys] = await Promise.all([
      lists.newest(db, user.id, EXPORTED_SESSIONS),
      entries.about(db, user.id, null, EXPORTED_ENTRIES),
      recoveryCodes.count(db, user.id),
      credentials.passkeysOf(db, user.id),
    ])
    return {
      exported_at: now().toISOString(),
      user: userView(user),
      has_password: user.passwordHash !== null,
      recovery_codes_left: codes?.left ?? 0,
      passkeys: passkeys.map(({ id, friendlyName, createdAt, lastUsedAt }) => ({
        id,
        friendly_name: friendlyName,
        created_at: createdAt.toISOString(),
        last_used_at: lastUsedAt?.toISOString() ?? null,
      })),
      sessions: held.rows.map((session) => ({
        id: session.id,
        device: session.userAgent,
        ip: session.ip,
        aal: session.aal,
        amr: session.amr.map(({ method, at }) => ({ method, at: at.toISOString() })),
        created_at: session.createdAt.toISOString(),
        last_used_at: session.refreshedAt?.toISOString() ?? null,
        ended_at: session.revokedAt?.toISOString() ?? null,
        ended_because: session.revokedReason,
      })),
      audit_log: log.map((entry) => exportedEntry(entry, user.id)),
    }
  }
}

/** What the owner gets of an entry. As on the page, it neither names the administrator who acted nor says where they were. */
function exportedEntry({ payload, ip_address: ip, created_at }: AuditEntry, userId: string) {
  const { actor_id: actorId, actor_username, actor_name, ...rest } = payload
  const isOwn = actorId === userId
  const actor =
    isOwn || actorId === NIL_UUID
      ? { actor_id: actorId, actor_username, actor_name }
      : { actor_id: NIL_UUID, actor_username: '' }
  return { ...actor, ...rest, ip_address: isOwn ? ip : '', created_at: created_at.toISOString() }
}
