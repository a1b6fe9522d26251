import type { Tx } from '@signet/db'
import { normalizePhone } from '../addresses/phone.js'
import { traitsOf, type AdminActs } from '../administrators/admin-acts.js'
import type { Admin } from '../administrators/admin.js'
import { invalid } from '../errors/auth-error.js'
import type { Mailer } from '../mail/mailer.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { Factor } from '../users/user.js'
import { factorNotFound, factorTraits, requireFreeName, visibleName } from './factor-rules.js'
import type { FactorStore } from './factor-store.js'
import type { SessionLevelStore } from './session-level-store.js'

export type FactorChanges = { friendly_name?: string; phone?: string }

type Deps = {
  acts: AdminActs
  factors: FactorStore
  levels: SessionLevelStore
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
    const { acts, factors, levels, now } = this.deps
    return acts.onUser(admin, { id: userId }, meta, async ({ tx, record, user }) => {
      const factor = await this.#find(tx, userId, id)
      const friendlyName =
        changes.friendly_name === undefined ? factor.friendlyName : visibleName(changes.friendly_name)
      const phone = newPhone(factor, changes.phone)
      requireFreeName(user.factors, friendlyName, factor)
      await factors.makeWay(tx, userId, { id, friendlyName, phone })
      // Proofs made with the former number no longer count, as after a removal.
      if (phone !== factor.phone) await levels.downgrade(tx, id, now())
      await factors.update(tx, id, { friendlyName, phone }, now())
      record('factor_updated', { ...traitsOf(user), ...factorTraits(factor) })
      return { ...factor, friendlyName, phone, updatedAt: now() }
    })
  }

  async remove(admin: Admin, userId: string, id: string, meta: RequestMeta): Promise<Factor> {
    const { acts, factors, levels, mailer, now } = this.deps
    return acts.onUser(admin, { id: userId }, meta, async ({ tx, record, user }) => {
      const factor = await this.#find(tx, userId, id)
      await levels.downgrade(tx, id, now())
      await factors.remove(tx, id)
      record('factor_deleted', { ...traitsOf(user), ...factorTraits(factor) })
      const email = user.email ?? ''
      const variables = { email, factorType: factor.factorType, data: user.userMetadata }
      if (factor.status === 'verified')
        await mailer.notify(tx, { kind: 'mfa_factor_unenrolled_notification', to: email, variables }, meta)
      return factor
    })
  }

  async #find(tx: Tx, userId: string, id: string): Promise<Factor> {
    const factor = await this.deps.factors.find(tx, userId, id)
    if (factor === null) throw factorNotFound()
    return factor
  }
}

function newPhone(factor: Factor, phone: string | undefined): string | null {
  if (phone === undefined || phone === '') return factor.phone
  if (factor.factorType !== 'phone') throw invalid('Only a phone factor has a phone number')
  return normalizePhone(phone)
}
