import { isUniqueViolation, type Tx } from '@signet/db'
import { type AuditLog } from '../audit/audit-log.js'
import { authError } from '../errors/auth-error.js'
import { type Mailer } from '../mail/mailer.js'
import { type OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type IdentityStore } from '../users/identity-store.js'
import { type UserChanges, type UserStore } from '../users/user-store.js'
import { providersOf, type Identity, type User } from '../users/user.js'

type Deps = {
  users: UserStore
  identities: IdentityStore
  tokens: OneTimeTokenStore
  audit: AuditLog
  mailer: Mailer
  rules: { autoconfirm: boolean }
  now: () => Date
}

/** Taking a sign-in method away (contract 1.19). */
export class IdentityService {
  constructor(private readonly deps: Deps) {}

  async unlink(caller: User, identityId: string, meta: RequestMeta): Promise<void> {
    const { users, audit, mailer } = this.deps
    const { user, identity } = await audit.transaction(meta, async (tx, record) => {
      const locked = (await users.lockById(tx, caller.id)) ?? caller
      if (locked.identities.length <= 1)
        throw authError(
          'unprocessable',
          'single_identity_not_deletable',
          'User must have at least 1 identity after unlinking',
        )
      const found = locked.identities.find(({ id }) => id === identityId)
      if (found === undefined)
        throw authError('unprocessable', 'identity_not_found', "Identity doesn't exist")
      await this.#remove(tx, locked, found)
      record('identity_unlinked', locked, {
        identity_id: found.id,
        provider: found.provider,
        provider_id: found.providerId,
      })
      return { user: locked, identity: found }
    })
    // To the address of before: whoever lost a way in must hear of it.
    const email = user.email ?? ''
    await mailer.notify(
      'identity_unlinked_notification',
      email,
      {
        email,
        provider: identity.provider,
        data: user.userMetadata,
      },
      meta,
    )
  }

  async #remove(tx: Tx, user: User, removed: Identity): Promise<void> {
    const { users, identities, tokens, now } = this.deps
    await identities.remove(tx, removed.id)
    const left = user.identities.filter(({ id }) => id !== removed.id)
    const isOrphaned = user.email !== null && !left.some(({ email }) => email === user.email)
    if (isOrphaned) await tokens.removeAll(tx, user.id)
    const changes: UserChanges = {
      appMetadata: { ...user.appMetadata, ...providersOf(left) },
      ...(removed.provider === 'phone' ? { phone: null, phoneConfirmedAt: null } : {}),
      ...(isOrphaned ? this.#promoted(user, left) : {}),
    }
    await users.update(tx, user.id, changes, now()).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error
      throw authError(
        'unprocessable',
        'email_conflict_identity_not_deletable',
        'Unable to unlink identity due to email conflict',
      )
    })
  }

  /** The account takes the address of another identity: a verified one first, each time the oldest. */
  #promoted(user: User, left: readonly Identity[]): UserChanges {
    const withEmail = left.filter(({ email }) => email !== null)
    const verified = withEmail.find(({ identityData }) => identityData['email_verified'] === true)
    const chosen = verified ?? withEmail[0]
    const isConfirmed = verified !== undefined || this.deps.rules.autoconfirm
    const confirmedAt =
      chosen !== undefined && isConfirmed ? (user.emailConfirmedAt ?? this.deps.now()) : null
    return { email: chosen?.email ?? null, emailConfirmedAt: confirmedAt }
  }
}
