import { normaliseEmail } from '../addresses/email.js'
import { type AuditLog } from '../audit/audit-log.js'
import { traitsOf, type Admin } from '../admin/admin-user-service.js'
import { authError } from '../errors/auth-error.js'
import { type SecretMessages } from '../one-time-tokens/secret-messages.js'
import { type TokenIssuer } from '../one-time-tokens/token-issuer.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type UserFactory } from '../sign-up/user-factory.js'
import { type UserStore } from '../users/user-store.js'
import { type JsonObject, type User } from '../users/user.js'
import { refuseLargeMetadata } from '../users/metadata-limit.js'

type Deps = {
  users: UserStore
  factory: UserFactory
  issuer: TokenIssuer
  messages: SecretMessages
  audit: AuditLog
  now: () => Date
}

/** POST /invite (contract 1.14). Invited users have no password until they set one. */
export class InviteService {
  constructor(private readonly deps: Deps) {}

  async invite(
    admin: Admin,
    request: { email?: string; data?: JsonObject },
    redirectTo: string,
    meta: RequestMeta,
  ): Promise<User> {
    const { users, factory, issuer, messages, audit, now } = this.deps
    const address = { kind: 'email', value: normaliseEmail(request.email ?? '') } as const
    messages.refuseAddress(address)
    refuseLargeMetadata({ userMetadata: request.data ?? {} })
    const { user, issued } = await audit.transaction(meta, async (tx, record) => {
      const found = await factory.findOrInsert(tx, {
        address,
        aud: admin.aud,
        passwordHash: null,
        data: request.data ?? {},
      })
      if (found.user.emailConfirmedAt !== null)
        throw authError(
          'unprocessable',
          'email_exists',
          'A user with this email address has already been registered',
        )
      const { id } = found.user
      const token = await issuer.issue(tx, found.user, { slot: 'confirmation', address, intervalMs: 0 })
      await users.update(tx, id, { invitedAt: now() }, now())
      record('user_invited', { adminRole: admin.role }, traitsOf(found.user))
      return { user: (await users.findById(tx, id)) ?? found.user, issued: token }
    })
    await messages.mailLink('invite', user, issued, redirectTo, meta)
    return user
  }
}
