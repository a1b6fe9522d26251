import { withoutInvisible } from '@signet/pages/visible'
import { normalizeEmail } from '../addresses/email.js'
import { traitsOf, type AdminAct, type AdminActs } from '../administrators/admin-acts.js'
import type { Admin } from '../administrators/admin.js'
import type { HeldAdmin } from '../audit/audit.js'
import type { SecretMessages } from '../messages/secret-messages.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { VouchedSignUps } from '../sign-up/vouched-sign-ups.js'
import type { UserStore } from '../users/user-store.js'
import type { JsonObject, User } from '../users/user.js'

const MAX_NAME = 120

type Deps = {
  users: UserStore
  vouched: VouchedSignUps
  messages: SecretMessages
  acts: AdminActs
}

/** POST /invite. Invited users have no password until they set one. */
export class InviteService {
  constructor(private readonly deps: Deps) {}

  async invite(
    admin: Admin,
    request: { email?: string; data?: JsonObject },
    redirectTo: string,
    meta: RequestMeta,
  ): Promise<User> {
    const { users, vouched, messages, acts } = this.deps
    const address = { kind: 'email', value: normalizeEmail(request.email ?? '') } as const
    messages.refuseAddress(address)
    const invite = async ({ tx, admin: inviting, record }: AdminAct) => {
      const target = await vouched.target(tx, { address, aud: admin.aud, data: request.data ?? {} })
      const issued = await vouched.invite(tx, target, address)
      record('user_invited', traitsOf(target.user))
      const user = (await users.findById(tx, target.user.id)) ?? target.user
      const inviter = nameOf(inviting)
      await messages.mailLink(tx, { kind: 'invite', user, issued, redirectTo, inviter }, meta)
      return user
    }
    return messages.counted([{ address, purpose: 'invitation' }], meta, () =>
      acts.transaction(admin, { addresses: [address] }, meta, invite),
    )
  }
}

/** The name of the administrator who invites; undefined if a program with its own token does. */
function nameOf({ person }: HeldAdmin): string | undefined {
  if (person === null) return undefined
  const { full_name: name } = person.userMetadata
  const visible = typeof name === 'string' ? withoutInvisible(name).trim().slice(0, MAX_NAME) : ''
  return visible === '' ? (person.email ?? undefined) : visible
}
