import { type Address } from '../addresses/address.js'
import { type AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import { type SecretMessages } from '../one-time-tokens/secret-messages.js'
import { type TokenIssuer } from '../one-time-tokens/token-issuer.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type UserStore } from '../users/user-store.js'
import { type User } from '../users/user.js'

type Deps = {
  users: UserStore
  issuer: TokenIssuer
  messages: SecretMessages
  audit: AuditLog
  rules: { intervalMs: { email: number; phone: number } }
}

/** GET /reauthenticate (contract 1.15): a nonce for the next password change. */
export class ReauthenticationService {
  constructor(private readonly deps: Deps) {}

  /** Returns the gateway's message id when the nonce went by SMS. */
  async sendNonce(caller: User, meta: RequestMeta): Promise<string | null> {
    const { users, issuer, messages, audit, rules } = this.deps
    const { user, issued } = await audit.transaction(meta, async (tx, record) => {
      const locked = (await users.lockById(tx, caller.id)) ?? caller
      const address = confirmedAddress(locked)
      record('user_reauthenticate_requested', locked, { provider: address.kind })
      const token = await issuer.issue(tx, locked, {
        slot: 'reauthentication',
        address,
        intervalMs: rules.intervalMs[address.kind],
      })
      return { user: locked, issued: token }
    })
    if (issued.address.kind === 'phone') return messages.sms(issued, 'sms', meta)
    await messages.mailNonce(user, issued, meta)
    return null
  }
}

/** Where nonces go: the e-mail address rather than the phone. */
function confirmedAddress(user: User): Address {
  if (user.email !== null) {
    if (user.emailConfirmedAt === null)
      throw authError('unprocessable', 'email_not_confirmed', 'Please verify your email first.')
    return { kind: 'email', value: user.email }
  }
  if (user.phone === null)
    throw invalid('Reauthentication requires the user to have an email or a phone number')
  if (user.phoneConfirmedAt === null)
    throw authError('unprocessable', 'phone_not_confirmed', 'Please verify your phone first.')
  return { kind: 'phone', value: user.phone }
}
