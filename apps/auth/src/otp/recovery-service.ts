import { type Db } from '@signet/db'
import { normaliseEmail } from '../addresses/email.js'
import { type AuditLog } from '../audit/audit-log.js'
import { authError } from '../errors/auth-error.js'
import { challengeOf } from '../flows/pkce.js'
import { type SecretMessages } from '../one-time-tokens/secret-messages.js'
import { type UnsentMessages } from '../one-time-tokens/unsent-messages.js'
import { type TokenIssuer } from '../one-time-tokens/token-issuer.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type UserStore } from '../users/user-store.js'

export type RecoveryRequest = { email?: string; code_challenge?: string; code_challenge_method?: string }

type Deps = {
  db: Db
  users: UserStore
  issuer: TokenIssuer
  messages: SecretMessages
  unsent: UnsentMessages
  audit: AuditLog
  rules: { emailEnabled: boolean; intervalMs: number }
}

/** POST /recover (contract 1.11): the same answer whether or not somebody has the address. */
export class RecoveryService {
  constructor(private readonly deps: Deps) {}

  async recover(
    request: RecoveryRequest,
    { aud, redirectTo }: { aud: string; redirectTo: string },
    meta: RequestMeta,
  ): Promise<void> {
    const { db, users, issuer, messages, unsent, audit, rules } = this.deps
    if (!rules.emailEnabled)
      throw authError('invalid', 'email_provider_disabled', 'Email logins are disabled')
    const email = normaliseEmail(request.email ?? '')
    const challenge = challengeOf(request)
    const known = await users.findByEmail(db, email, aud)
    if (known === null)
      return unsent.ask(
        {
          slot: 'recovery',
          address: { kind: 'email', value: email },
          aud,
          via: 'email',
          intervalMs: rules.intervalMs,
        },
        meta,
      )
    const { user, issued } = await audit.transaction(meta, async (tx, record) => {
      const locked = (await users.lockById(tx, known.id)) ?? known
      record('user_recovery_requested', locked, { provider: 'email' })
      const token = await issuer.issue(tx, locked, {
        slot: 'recovery',
        address: { kind: 'email', value: email },
        intervalMs: rules.intervalMs,
        challenge,
        method: 'recovery',
      })
      return { user: locked, issued: token }
    })
    await messages.mailLink('recovery', user, issued, redirectTo, meta)
  }
}
