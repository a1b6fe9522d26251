import { type Tx } from '@signet/db'
import { isAppError } from '@signet/errors'
import { type Audit } from '../../audit/audit-log.js'
import { type Issued } from '../../one-time-tokens/one-time-tokens.js'
import { type SecretMessages } from '../../one-time-tokens/secret-messages.js'
import { type TokenIssuer } from '../../one-time-tokens/token-issuer.js'
import { type RequestMeta } from '../../requests/request-meta.js'
import { type User } from '../../users/user.js'

/** A mail to send once the transaction is committed. */
export type PendingConfirmation = { user: User; issued: Issued }

type Deps = { issuer: TokenIssuer; messages: SecretMessages; intervalMs: number }

/** Asks users whose provider did not verify their address to confirm it. */
export class ConfirmationRequests {
  constructor(private readonly deps: Deps) {}

  /** Null when the last mail is too recent: the refusal that follows is the same. */
  async issue(tx: Tx, audit: Audit, user: User, provider: string): Promise<PendingConfirmation | null> {
    if (user.email === null) return null
    const address = { kind: 'email', value: user.email } as const
    try {
      const request = { slot: 'confirmation', address, intervalMs: this.deps.intervalMs } as const
      const issued = await this.deps.issuer.issue(tx, user, request)
      audit('user_confirmation_requested', user, { provider })
      return { user, issued }
    } catch (error) {
      if (isAppError(error) && error.kind === 'limited') return null
      throw error
    }
  }

  async send(pending: PendingConfirmation | null, redirectTo: string, meta: RequestMeta): Promise<void> {
    if (!pending) return
    await this.deps.messages.mailLink('confirmation', pending.user, pending.issued, redirectTo, meta)
  }
}
