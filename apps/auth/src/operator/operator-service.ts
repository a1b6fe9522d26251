import type { Db } from '@signet/db'
import { AppError } from '@signet/errors'
import { phoneOf } from '../addresses/phone.js'
import type { Transact } from '../account-requests/account-requests.js'
import { recordCancelledBy, traitsOf, userNotFound, type AdminActs } from '../administrators/admin-acts.js'
import type { AdminUserService } from '../admin/admin-user-service.js'
import type { AdminPerson } from '../administrators/admin.js'
import type { AuditListService } from '../admin/audit-list-service.js'
import type { AuditEntry, AuditListStore } from '../admin/audit-list-store.js'
import type { UserListStore } from '../admin/user-list-store.js'
import type { AuditAction } from '../audit/audit.js'
import { authError } from '../errors/auth-error.js'
import type { RecoveryCodeStore } from '../factors/recovery-code-store.js'
import type { AdminFactorService } from '../factors/admin-factor-service.js'
import type { RecoveryService } from '../otp/recovery-service.js'
import type { ResendService } from '../otp/resend-service.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { SessionEnds } from '../sessions/session-ends.js'
import type { Listed, ListedSession, SessionListStore } from '../sessions/session-list-store.js'
import type { UserStore } from '../users/user-store.js'
import type { User } from '../users/user.js'
import { isUuid } from '../users/uuid.js'
import type { Credential } from '../webauthn/credential.js'
import type { CredentialStore } from '../webauthn/credential-store.js'

/** A person who acts as an administrator and has shown a second factor. */
export type Operator = AdminPerson

type Deps = {
  db: Db
  acts: AdminActs
  users: UserStore
  lists: UserListStore
  sessionLists: SessionListStore
  entries: AuditListStore
  credentials: CredentialStore
  recoveryCodes: RecoveryCodeStore
  ends: SessionEnds
  auditLists: AuditListService
  adminUsers: AdminUserService
  adminFactors: AdminFactorService
  resends: ResendService
  recoveries: RecoveryService
  /** Where links lead in emails that people did not request themselves. */
  siteUrl: string
}

const REFUSALS = {
  'own-ban': 'You cannot ban your own account',
  confirmed: 'This address is confirmed',
  'no-email': 'This account has no email address',
} as const

/** What operators cannot do. The page has a text for each reason. */
export class OperatorRefusal extends AppError {
  constructor(readonly reason: keyof typeof REFUSALS) {
    super('unprocessable', 'validation_failed', REFUSALS[reason])
  }
}

/** A person as operators see them. */
export type PersonDetail = {
  user: User
  sessions: Listed<ListedSession>
  entries: AuditEntry[]
  passkeys: Credential[]
  recoveryCodesLeft: number
}

/** The most rows that a list shows. */
const SHOWN = 50
const PHONE = /^\+?[1-9]\d{4,14}$/

/**
 * The actions of the operator page: the same as in the admin API, but by a named person (docs/specification.md#the-operator-page,
 * decision 0212).
 */
export class OperatorService {
  constructor(private readonly deps: Deps) {}

  /** Finds the person with this id, phone number or address; otherwise everyone whose address or name contains the text. */
  async search(operator: Operator, text: string): Promise<User[]> {
    const { db, users, lists } = this.deps
    const wanted = text.trim()
    if (wanted === '' || wanted.includes('\0')) return []
    const digits = phoneOf(wanted)
    const known = isUuid(wanted)
      ? await users.findById(db, wanted.toLowerCase())
      : PHONE.test(digits)
        ? await users.findByPhone(db, digits.replace('+', ''))
        : await users.findByEmail(db, wanted.toLowerCase())
    if (known !== null) return [known]
    const query = { aud: operator.aud, filter: wanted, order: 'desc', offset: 0, limit: SHOWN } as const
    return db.search((tx) => lists.list(tx, query))
  }

  async person(id: string): Promise<PersonDetail | null> {
    const { db, users, sessionLists, entries, credentials, recoveryCodes } = this.deps
    const [user, sessions, about, passkeys, codes] = await Promise.all([
      users.findById(db, id),
      sessionLists.newest(db, id, SHOWN),
      entries.about(db, id, null, SHOWN),
      credentials.passkeysOf(db, id),
      recoveryCodes.count(db, id),
    ])
    if (user === null) return null
    const recoveryCodesLeft = codes?.left ?? 0
    return { user, sessions, entries: about, passkeys, recoveryCodesLeft }
  }

  /** The newest audit entries about all users; `query` has the format of the admin API. */
  auditLog(query: string): Promise<AuditEntry[]> {
    return this.deps.auditLists.newest(query, SHOWN)
  }

  /** `duration` has the format of the admin API; `none` lifts the ban. */
  async ban(operator: Operator, id: string, duration: string, meta: RequestMeta): Promise<void> {
    if (id === operator.live.user.id && duration !== 'none') throw new OperatorRefusal('own-ban')
    await this.deps.adminUsers.update(operator, id, { ban_duration: duration }, undefined, meta)
  }

  async signOutEverywhere(operator: Operator, id: string, meta: RequestMeta): Promise<void> {
    const { acts, ends } = this.deps
    await acts.onUser(operator, { id }, meta, async ({ tx, record, user }) => {
      const ended = await ends.all(tx, id, 'admin')
      record('session_revoked', traitsOf(user))
      recordCancelledBy({ record, user }, ended)
    })
  }

  async removeFactor(operator: Operator, id: string, factorId: string, meta: RequestMeta): Promise<void> {
    if (!isUuid(factorId)) throw authError('not_found', 'mfa_factor_not_found', 'Factor not found')
    await this.deps.adminFactors.remove(operator, id, factorId.toLowerCase(), meta)
  }

  /** Sends another email to confirm the address, as its owner could request. The operator never sees the link. */
  async resendConfirmation(operator: Operator, id: string, meta: RequestMeta): Promise<void> {
    const { resends, siteUrl } = this.deps
    const user = await this.#withEmail(id)
    if (user.emailConfirmedAt !== null) throw new OperatorRefusal('confirmed')
    const act = this.#noted(operator, 'user_confirmation_requested', user, meta)
    await resends.resend({ type: 'signup', email: user.email }, { redirectTo: siteUrl }, meta, act)
  }

  /** Sends an email with which the owner of the address can choose a new password. */
  async sendRecovery(operator: Operator, id: string, meta: RequestMeta): Promise<void> {
    const { recoveries, siteUrl } = this.deps
    const user = await this.#withEmail(id)
    const act = this.#noted(operator, 'user_recovery_requested', user, meta)
    await recoveries.recover({ email: user.email }, { redirectTo: siteUrl }, meta, act)
  }

  async #withEmail(id: string): Promise<User & { email: string }> {
    const { db, users } = this.deps
    const user = await users.findById(db, id)
    if (user === null) throw userNotFound()
    const { email } = user
    if (email === null) throw new OperatorRefusal('no-email')
    return { ...user, email }
  }

  /** Runs what anyone could request as an act of the operator, and records it. */
  #noted(operator: Operator, action: AuditAction, user: User, meta: RequestMeta): Transact {
    return (work) =>
      this.deps.acts.transaction(operator, {}, meta, async ({ tx, record }) => {
        await work(tx)
        record(action, traitsOf(user))
      })
  }
}
