import type { Db } from '@signet/db'
import { normalizeEmail } from '../addresses/email.js'
import type { AccountRequests, Transact } from '../account-requests/account-requests.js'
import type { RecoverRequest } from '../account-requests/account-work.js'
import type { AuditLog } from '../audit/audit-log.js'
import { authError } from '../errors/auth-error.js'
import { challengeOf } from '../flows/pkce.js'
import type { SecretMessages } from '../messages/secret-messages.js'
import type { TokenIssuer } from '../one-time-tokens/token-issuer.js'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { UserStore } from '../users/user-store.js'

export type RecoveryRequest = { email?: string; code_challenge?: string; code_challenge_method?: string }

type Deps = {
  db: Db
  users: UserStore
  issuer: TokenIssuer
  messages: SecretMessages
  accountRequests: AccountRequests
  audit: AuditLog
  rules: { emailEnabled: boolean; intervalMs: number }
}

/** POST /recover. The answer is the same whether or not the address has an account. */
export class RecoveryService {
  constructor(private readonly deps: Deps) {}

  async recover(
    request: RecoveryRequest,
    { redirectTo }: { redirectTo: string },
    meta: RequestMeta,
    transact?: Transact,
  ): Promise<void> {
    const { accountRequests, rules } = this.deps
    if (!rules.emailEnabled)
      throw authError('invalid', 'email_provider_disabled', 'Email logins are disabled')
    const address = { kind: 'email', value: normalizeEmail(request.email ?? '') } as const
    const input = { address, challenge: challengeOf(request), redirectTo }
    const { intervalMs } = rules
    await accountRequests.accept(
      { what: 'recover', input },
      { clock: 'recovery', purpose: 'recovery', address, via: 'email', intervalMs },
      meta,
      transact,
    )
  }

  /** Emails the link if the address has an account. */
  async fulfill({ address, challenge, redirectTo }: RecoverRequest, meta: MessageOrigin): Promise<void> {
    const { db, users, issuer, messages, audit } = this.deps
    const known = await users.findByEmail(db, address.value)
    if (known === null) return
    await audit.transaction(meta, async (tx, record) => {
      const user = (await users.lockById(tx, known.id)) ?? known
      record('user_recovery_requested', user, { provider: 'email' })
      const issued = await issuer.issue(tx, user, {
        slot: 'recovery',
        address,
        intervalMs: 0,
        challenge,
        from: meta.client,
        byAnyone: true,
      })
      await messages.mailLink(tx, { kind: 'recovery', user, issued, redirectTo }, meta)
    })
  }
}
