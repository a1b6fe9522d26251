import type { Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { Audit } from '../audit/audit-log.js'
import { notifyEmailChanged, notifyPhoneChanged } from '../mail/address-notices.js'
import type { Mailer } from '../mail/mailer.js'
import type { OneTimeTokenStore, StoredToken } from '../one-time-tokens/one-time-token-store.js'
import type { AddressProofs, Claim } from '../proofs/address-proofs.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { UserStore } from '../users/user-store.js'
import type { User } from '../users/user.js'
import type { VerifyType } from './verify-request.js'

/** The result of a correct token. */
export type Effect = { kind: 'done'; user: User } | { kind: 'first_half' }

export type Verification = {
  type: Exclude<VerifyType, 'email'>
  user: User
  token: StoredToken
  claim: Claim | null
}

type Deps = {
  users: UserStore
  proofs: AddressProofs
  tokens: OneTimeTokenStore
  mailer: Mailer
  /** Both addresses must confirm an email change. */
  secureEmailChange: boolean
  now: () => Date
}

/** Applies the effect of each type to a user whose row is locked. */
export class VerifyEffects {
  constructor(private readonly deps: Deps) {}

  async apply(
    tx: Tx,
    audit: Audit,
    { type, user, token, claim }: Verification,
    meta: RequestMeta,
  ): Promise<Effect> {
    switch (type) {
      case 'signup':
      case 'invite':
        audit(type === 'signup' ? 'user_signedup' : 'invite_accepted', user, { provider: 'email' })
        return this.#prove(tx, user, 'email', claim)
      case 'recovery':
      case 'magiclink':
        audit(user.emailConfirmedAt === null ? 'user_signedup' : 'login', user, { provider: 'email' })
        return this.#prove(tx, user, 'email', claim)
      case 'sms':
        audit(user.phoneConfirmedAt === null ? 'user_signedup' : 'login', user, { provider: 'phone' })
        return this.#prove(tx, user, 'phone', claim)
      case 'email_change':
        return this.#changeEmail(tx, audit, user, token, meta)
      case 'phone_change':
        return this.#changePhone(tx, audit, user, token, meta)
    }
  }

  /** For an address already proven, only updates `app_metadata`. */
  async #prove(tx: Tx, user: User, kind: Address['kind'], claim: Claim | null): Promise<Effect> {
    const { proofs } = this.deps
    const confirmedAt = kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt
    const proved = confirmedAt === null ? proofs.prove(tx, user, kind, claim) : proofs.refresh(tx, user)
    return { kind: 'done', user: await proved }
  }

  async #changeEmail(
    tx: Tx,
    audit: Audit,
    user: User,
    token: StoredToken,
    meta: RequestMeta,
  ): Promise<Effect> {
    const { users, proofs, tokens, mailer, secureEmailChange, now } = this.deps
    const half = token.slot === 'email_change_new' ? 1 : 2
    const confirmed = user.emailChangeConfirmStatus
    // The current address proves nothing about the new one, no matter what the setting was when the change began.
    const isComplete =
      half === 1 ? confirmed === 2 || !secureEmailChange || user.email === null : confirmed === 1
    if (!isComplete) {
      // Another token that was sent to the same address is not the other half.
      await tokens.removeSlot(tx, user.id, token.slot)
      await users.update(tx, user.id, { emailChangeConfirmStatus: half }, now())
      return { kind: 'first_half' }
    }
    const newEmail = user.newEmail ?? token.sentTo.value
    audit('user_modified', user, { provider: 'email' })
    const changed = await proofs.adopt(tx, user, { kind: 'email', value: newEmail })
    await notifyEmailChanged(tx, mailer, user, newEmail, meta)
    return { kind: 'done', user: changed }
  }

  async #changePhone(
    tx: Tx,
    audit: Audit,
    user: User,
    token: StoredToken,
    meta: RequestMeta,
  ): Promise<Effect> {
    const { proofs, mailer } = this.deps
    audit('user_modified', user, { provider: 'phone' })
    const changed = await proofs.adopt(tx, user, token.sentTo)
    await notifyPhoneChanged(tx, mailer, user, changed, meta)
    return { kind: 'done', user: changed }
  }
}
