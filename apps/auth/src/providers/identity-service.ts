import { isUniqueViolation, type Tx } from '@signet/db'
import type { AuditLog } from '../audit/audit-log.js'
import { authError } from '../errors/auth-error.js'
import type { Mailer } from '../mail/mailer.js'
import type { OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import type { AddressProofs } from '../proofs/address-proofs.js'
import type { RequestMeta } from '../requests/request-meta.js'
import { requireStrong, type SessionGate } from '../sessions/session-gate.js'
import { recordCancelled, type Ended, type SessionEnds } from '../sessions/session-ends.js'
import type { Live } from '../sessions/session.js'
import type { IdentityStore } from '../users/identity-store.js'
import type { Identity, User } from '../users/user.js'

type Deps = {
  gate: SessionGate
  proofs: AddressProofs
  identities: IdentityStore
  tokens: OneTimeTokenStore
  ends: SessionEnds
  audit: AuditLog
  mailer: Mailer
  rules: { autoconfirm: boolean }
}

/** Removes sign-in methods (docs/specification.md#identities). */
export class IdentityService {
  constructor(private readonly deps: Deps) {}

  async unlink(caller: Live, identityId: string, meta: RequestMeta): Promise<Ended> {
    const { gate, audit, mailer } = this.deps
    return audit.transaction(meta, async (tx, record) => {
      const held = await gate.hold(tx, { userId: caller.user.id, sessionId: caller.session.id })
      requireStrong(held)
      const { user: locked } = held
      if (locked.identities.length <= 1)
        throw authError(
          'unprocessable',
          'single_identity_not_deletable',
          'User must have at least 1 identity after unlinking',
        )
      const found = locked.identities.find(({ id }) => id === identityId)
      if (found === undefined)
        throw authError('unprocessable', 'identity_not_found', "Identity doesn't exist")
      const ended = await this.#remove(tx, locked, found, held.session.signInId)
      record('identity_unlinked', locked, {
        identity_id: found.id,
        provider: found.provider,
        provider_id: found.providerId,
      })
      recordCancelled(record, locked, ended)
      // Goes to the previous address, because the person who lost a sign-in method must be notified.
      const email = locked.email ?? ''
      const variables = { email, provider: found.provider, data: locked.userMetadata }
      await mailer.notify(tx, { kind: 'identity_unlinked_notification', to: email, variables }, meta)
      return ended
    })
  }

  async #remove(tx: Tx, user: User, removed: Identity, keptSignInId: string): Promise<Ended> {
    const { identities, tokens, ends, proofs } = this.deps
    await identities.remove(tx, removed.id)
    const ended = await ends.byProvider(tx, user.id, removed.provider, keptSignInId)
    const left = user.identities.filter(({ id }) => id !== removed.id)
    const isOrphaned = user.email !== null && !left.some(({ email }) => email === user.email)
    if (isOrphaned) await tokens.removeAll(tx, user.id)
    const lost = [
      ...(isOrphaned ? ['email' as const] : []),
      ...(removed.provider === 'phone' ? ['phone' as const] : []),
    ]
    const instead = isOrphaned ? this.#promoted(left) : null
    await proofs.withdraw(tx, { ...user, identities: left }, { lost, instead }).catch((error: unknown) => {
      if (!isUniqueViolation(error)) throw error
      throw authError(
        'unprocessable',
        'email_conflict_identity_not_deletable',
        'Unable to unlink identity due to email conflict',
      )
    })
    return ended
  }

  /** The address of the oldest remaining identity that has a verified one. With autoconfirm, every address counts as verified. */
  #promoted(left: readonly Identity[]): string | null {
    const chosen = left.find(
      ({ email, identityData }) =>
        email !== null && (identityData['email_verified'] === true || this.deps.rules.autoconfirm),
    )
    return chosen?.email ?? null
  }
}
