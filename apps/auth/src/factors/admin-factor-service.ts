import type { Tx } from '@signet/db'
import { normalisePhone } from '../addresses/phone.js'
import { actorOf, traitsOf, userNotFound, type Admin } from '../admin/admin-user-service.js'
import type { AuditLog } from '../audit/audit-log.js'
import { invalid } from '../errors/auth-error.js'
import type { Mailer } from '../mail/mailer.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { UserStore } from '../users/user-store.js'
import type { Factor, User } from '../users/user.js'
import { factorNotFound, factorTraits, requireFreeName, visibleName } from './factor-rules.js'
import type { FactorStore } from './factor-store.js'
import type { SessionLevelStore } from './session-level-store.js'

export type FactorChanges = { friendly_name?: string; phone?: string }

type Deps = {
  users: UserStore
  factors: FactorStore
  levels: SessionLevelStore
  audit: AuditLog
  mailer: Mailer
  now: () => Date
}

/** Second factors of any user, for administrators (docs/specification.md#administration). */
export class AdminFactorService {
  constructor(private readonly deps: Deps) {}

  async update(
    admin: Admin,
    userId: string,
    id: string,
    changes: FactorChanges,
    meta: RequestMeta,
  ): Promise<Factor> {
    const { audit, factors, now } = this.deps
    return audit.transaction(meta, async (tx, record) => {
      const { user, factor } = await this.#locked(tx, userId, id)
      const friendlyName =
        changes.friendly_name === undefined ? factor.friendlyName : visibleName(changes.friendly_name)
      const phone = newPhone(factor, changes.phone)
      requireFreeName(user.factors, friendlyName, factor)
      await factors.makeWay(tx, userId, { id, friendlyName, phone })
      await factors.update(tx, id, { friendlyName, phone }, now())
      record('factor_updated', actorOf(admin), { ...traitsOf(user), ...factorTraits(factor) })
      return { ...factor, friendlyName, phone, updatedAt: now() }
    })
  }

  async remove(admin: Admin, userId: string, id: string, meta: RequestMeta): Promise<Factor> {
    const { audit, factors, levels, mailer, now } = this.deps
    return audit.transaction(meta, async (tx, record) => {
      const { user, factor } = await this.#locked(tx, userId, id)
      await levels.downgrade(tx, id, now())
      await factors.remove(tx, id)
      record('factor_deleted', actorOf(admin), { ...traitsOf(user), ...factorTraits(factor) })
      const email = user.email ?? ''
      const variables = { email, factorType: factor.factorType, data: user.userMetadata }
      if (factor.status === 'verified')
        await mailer.notify(tx, 'mfa_factor_unenrolled_notification', email, variables, meta)
      return factor
    })
  }

  async #locked(tx: Tx, userId: string, id: string): Promise<{ user: User; factor: Factor }> {
    const { users, factors } = this.deps
    const user = await users.lockById(tx, userId)
    if (user === null) throw userNotFound()
    const factor = await factors.find(tx, userId, id)
    if (factor === null) throw factorNotFound()
    return { user, factor }
  }
}

function newPhone(factor: Factor, phone: string | undefined): string | null {
  if (phone === undefined || phone === '') return factor.phone
  if (factor.factorType !== 'phone') throw invalid('Only a phone factor has a phone number')
  return normalisePhone(phone)
}
