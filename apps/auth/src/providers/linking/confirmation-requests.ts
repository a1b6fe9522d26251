import { randomUUID } from 'node:crypto'
import type { Tx } from '@signet/db'
import { isAppError } from '@signet/errors'
import type { Audit } from '../../audit/audit-log.js'
import type { OneTimeTokenStore } from '../../one-time-tokens/one-time-token-store.js'
import type { TokenHashes } from '../../one-time-tokens/one-time-token.js'
import type { Issued } from '../../one-time-tokens/one-time-tokens.js'
import type { SecretMessages } from '../../messages/secret-messages.js'
import type { TokenIssuer } from '../../one-time-tokens/token-issuer.js'
import type { RequestMeta } from '../../requests/request-meta.js'
import type { PendingSignUpStore } from '../../users/pending-sign-up-store.js'
import type { PendingChangeStore } from '../../users/pending-change-store.js'
import type { User } from '../../users/user.js'
import type { External } from './external-identities.js'

/** An email to send in the same transaction. */
export type PendingConfirmation = { user: User; issued: Issued }

type Deps = {
  issuer: TokenIssuer
  tokens: Pick<OneTimeTokenStore, 'newestOfSignUp'>
  signUps: PendingSignUpStore
  hashes: TokenHashes
  changes: PendingChangeStore
  messages: SecretMessages
  intervalMs: number
  now: () => Date
}

/** Asks users whose provider did not verify their address to confirm it. */
export class ConfirmationRequests {
  constructor(private readonly deps: Deps) {}

  /**
   * Issues a link to confirm the address. It works as if a sign-up had brought the identity: if someone else proves the address, the
   * identity is removed. Null if the last email is too recent; the caller gets the same refusal either way. Messages that others request
   * for the address do not count.
   */
  async issue(
    tx: Tx,
    audit: Audit,
    user: User,
    {
      provider,
      from,
      identityId,
      aud,
    }: Pick<External, 'provider' | 'from'> & { identityId: string; aud: string },
  ): Promise<PendingConfirmation | null> {
    const { issuer, tokens, hashes, signUps, intervalMs, now } = this.deps
    if (user.email === null) return null
    const address = { kind: 'email', value: user.email } as const
    const known = await signUps.findByIdentity(tx, identityId)
    const lastSentAt = known === null ? null : await tokens.newestOfSignUp(tx, known)
    if (lastSentAt !== null && lastSentAt.getTime() + intervalMs > now().getTime()) return null
    const signUp = { id: known ?? randomUUID(), isNew: known === null }
    if (known === null) {
      const brought = { aud, passwordHash: null, userMetadata: {}, identityId }
      await signUps.insert(
        tx,
        { ...brought, id: signUp.id, userId: user.id, origin: 'self', requestedBy: hashes.ofClient(from) },
        now(),
      )
    }
    const issued = await issuer.issue(tx, user, {
      slot: 'confirmation',
      address,
      from,
      intervalMs: 0,
      signUp,
    })
    audit('user_confirmation_requested', user, { provider })
    return { user, issued }
  }

  /** The same for an account with an owner, which gets the address once it is confirmed. */
  async issueChange(
    tx: Tx,
    audit: Audit,
    user: User,
    { provider, from, email }: Pick<External, 'provider' | 'from'> & { email: string },
  ): Promise<PendingConfirmation | null> {
    const { issuer, changes, intervalMs, now } = this.deps
    const address = { kind: 'email', value: email } as const
    try {
      const issued = await issuer.issue(tx, user, { slot: 'email_change_new', address, from, intervalMs })
      await changes.beginEmail(tx, user.id, { newEmail: email, token: issued.id }, now())
      audit('user_confirmation_requested', user, { provider })
      return { user: { ...user, newEmail: email }, issued }
    } catch (error) {
      if (isAppError(error) && error.kind === 'limited') return null
      throw error
    }
  }

  async send(
    tx: Tx,
    pending: PendingConfirmation | null,
    redirectTo: string,
    meta: RequestMeta,
  ): Promise<void> {
    if (!pending) return
    const kind = pending.issued.slot === 'email_change_new' ? 'email_change' : 'confirmation'
    await this.deps.messages.mailLink(tx, { kind, ...pending, redirectTo }, meta)
  }
}
