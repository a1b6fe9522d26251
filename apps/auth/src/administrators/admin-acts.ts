import type { Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { AuditAction, HeldAdmin } from '../audit/audit.js'
import type { AuditLog } from '../audit/audit-log.js'
import { authError } from '../errors/auth-error.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { cancelledChanges, type Ended } from '../sessions/session-ends.js'
import type { SessionGate } from '../sessions/session-gate.js'
import type { UserStore } from '../users/user-store.js'
import type { JsonObject, User } from '../users/user.js'
import type { Admin } from './admin.js'

/** One transaction of an administrator, who keeps the right to act until it ends. */
export type AdminAct = {
  readonly tx: Tx
  readonly admin: HeldAdmin
  /** Writes to the audit log in the name of the administrator. */
  readonly record: (action: AuditAction, traits: JsonObject) => void
}

/** Accounts that the transaction will lock, as far as they are known before it begins. */
type Concerned = { users?: readonly string[]; addresses?: readonly Address[] }

type Subject = { id: string; addresses?: readonly Address[]; evenDeleted?: boolean }

/** What an act on one user works with: the user before it, whose row is locked. */
type UserAct = AdminAct & { readonly user: User }

type Deps = { users: UserStore; gate: SessionGate; audit: AuditLog }

/**
 * All changes by administrators go through here. Much time can pass between the check at the start of a request and the change, while the
 * body arrives or a password is hashed. So each transaction checks the administrator again, and locks their user and session: a ban, a
 * demotion, a deletion or a sign-out either comes first, and the change is refused, or waits until the change is made.
 */
export class AdminActs {
  constructor(private readonly deps: Deps) {}

  transaction<T>(
    admin: Admin,
    concerned: Concerned,
    meta: RequestMeta,
    work: (act: AdminAct) => Promise<T>,
  ): Promise<T> {
    return this.deps.audit.transaction(meta, async (tx, record) => {
      await this.#lock(tx, admin, concerned)
      const held = await this.#hold(tx, admin)
      return work({ tx, admin: held, record: (action, traits) => record(action, held, traits) })
    })
  }

  /**
   * The same for one user, whose row is locked. An account that was deleted softly must not change anymore: a change could store personal
   * data in it again, or take an address from its owner.
   */
  onUser<T>(
    admin: Admin,
    { id, addresses = [], evenDeleted = false }: Subject,
    meta: RequestMeta,
    work: (act: UserAct) => Promise<T>,
  ): Promise<T> {
    return this.transaction(admin, { users: [id], addresses }, meta, async (act) => {
      const user = await this.deps.users.lockById(act.tx, id)
      if (user === null || (user.deletedAt !== null && !evenDeleted)) throw userNotFound()
      return work({ ...act, user })
    })
  }

  /**
   * Locks all rows known to be needed at once, users before the session; locking another user later may make the transaction start again.
   * The lock on the administrator is exclusive: with shared locks, a steady stream of their requests could keep a ban waiting forever.
   */
  async #lock(tx: Tx, { live }: Admin, { users: ids = [], addresses = [] }: Concerned): Promise<void> {
    const known = [...(live === null ? [] : [live.user.id]), ...ids, ...(await this.#holders(tx, addresses))]
    if (known.length > 0) await this.deps.users.lockAll(tx, known)
  }

  async #holders(tx: Tx, addresses: readonly Address[]): Promise<string[]> {
    const ids: string[] = []
    for (const address of addresses) {
      const holder = await this.deps.users.findByAddress(tx, address)
      if (holder !== null) ids.push(holder.id)
    }
    return ids
  }

  async #hold(tx: Tx, admin: Admin): Promise<HeldAdmin> {
    if (admin.live === null) return heldAs({ adminRole: admin.role, person: null, isNamed: false })
    const { user, session } = admin.live
    const held = await this.deps.gate.hold(tx, { userId: user.id, sessionId: session.id })
    admin.require(held)
    return heldAs({ adminRole: held.user.role, person: held.user, isNamed: admin.isNamed })
  }
}

const heldAs = (admin: Pick<HeldAdmin, 'adminRole' | 'person' | 'isNamed'>): HeldAdmin => admin as HeldAdmin

/** What audit entries of administrators say about the user (docs/specification.md#audit-log). */
export const traitsOf = (user: User) => ({
  user_id: user.id,
  user_email: user.email ?? '',
  user_phone: user.phone ?? '',
})

/** Writes down, in the name of the administrator, which changes of address were cancelled. */
export function recordCancelledBy({ record, user }: Pick<UserAct, 'record' | 'user'>, ended: Ended): void {
  for (const traits of cancelledChanges(user, ended))
    record('user_modified', { ...traitsOf(user), ...traits })
}

export const userNotFound = () => authError('not_found', 'user_not_found', 'User not found')
