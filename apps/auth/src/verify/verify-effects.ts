import { isUniqueViolation, type Tx } from '@signet/db'
import { type Audit } from '../audit/audit-log.js'
import { authError } from '../errors/auth-error.js'
import { tellEmailChanged, tellPhoneChanged } from '../mail/address-notices.js'
import { type Mailer } from '../mail/mailer.js'
import { type OneTimeTokenStore, type StoredToken } from '../one-time-tokens/one-time-token-store.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type Confirmations } from '../users/confirmations.js'
import { type UserStore } from '../users/user-store.js'
import { type User } from '../users/user.js'
import { type VerifyType } from './verify-request.js'

/** What a correct token brought about. `announce` tells about it once it is committed. */
export type Effect =
  | { kind: 'done'; user: User; announce?: (meta: RequestMeta) => Promise<void> }
  | { kind: 'first_half'; announce?: undefined }

export type Verification = { type: Exclude<VerifyType, 'email'>; user: User; token: StoredToken }

type Deps = {
  users: UserStore
  confirmations: Confirmations
  tokens: OneTimeTokenStore
  mailer: Mailer
  /** Contract 5.4: both addresses must confirm an e-mail change. */
  secureEmailChange: boolean
  now: () => Date
}

/** The effects of contract 1.8, by type, on a user whose row is locked. */
export class VerifyEffects {
  constructor(private readonly deps: Deps) {}

  async apply(tx: Tx, audit: Audit, { type, user, token }: Verification): Promise<Effect> {
    const { confirmations } = this.deps
    switch (type) {
      case 'signup':
      case 'invite':
        audit(type === 'signup' ? 'user_signedup' : 'invite_accepted', user, { provider: 'email' })
        return { kind: 'done', user: await confirmations.confirmEmail(tx, user) }
      case 'recovery':
      case 'magiclink':
        audit(user.emailConfirmedAt === null ? 'user_signedup' : 'login', user, { provider: 'email' })
        return {
          kind: 'done',
          user: await (user.emailConfirmedAt === null
            ? confirmations.confirmEmail(tx, user)
            : confirmations.refresh(tx, user)),
        }
      case 'sms':
        audit(user.phoneConfirmedAt === null ? 'user_signedup' : 'login', user, { provider: 'phone' })
        return {
          kind: 'done',
          user: await (user.phoneConfirmedAt === null
            ? confirmations.confirmPhone(tx, user)
            : confirmations.refresh(tx, user)),
        }
      case 'email_change':
        return this.#changeEmail(tx, audit, user, token)
      case 'phone_change':
        return this.#changePhone(tx, audit, user, token)
    }
  }

  async #changeEmail(tx: Tx, audit: Audit, user: User, token: StoredToken): Promise<Effect> {
    const { users, confirmations, tokens, mailer, secureEmailChange, now } = this.deps
    if (secureEmailChange && user.email !== null && user.emailChangeConfirmStatus === 0) {
      await tokens.remove(tx, token.id)
      await users.update(tx, user.id, { emailChangeConfirmStatus: 1 }, now())
      return { kind: 'first_half' }
    }
    const newEmail = user.newEmail ?? token.relatesTo
    audit('user_modified', user, { provider: 'email' })
    const changed = await confirmations.setEmail(tx, user, newEmail).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error
      throw authError(
        'unprocessable',
        'email_exists',
        'A user with this email address has already been registered',
      )
    })
    return { kind: 'done', user: changed, announce: (meta) => tellEmailChanged(mailer, user, newEmail, meta) }
  }

  async #changePhone(tx: Tx, audit: Audit, user: User, token: StoredToken): Promise<Effect> {
    const { confirmations, mailer } = this.deps
    audit('user_modified', user, { provider: 'phone' })
    const changed = await confirmations.setPhone(tx, user, token.relatesTo).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error
      throw authError(
        'unprocessable',
        'phone_exists',
        'A user with this phone number has already been registered',
      )
    })
    return { kind: 'done', user: changed, announce: (meta) => tellPhoneChanged(mailer, user, changed, meta) }
  }
}
