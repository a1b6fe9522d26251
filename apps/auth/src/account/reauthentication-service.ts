import type { Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { Audit, AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import type { SecretMessages } from '../messages/secret-messages.js'
import type { TokenIssuer } from '../one-time-tokens/token-issuer.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { SessionGate } from '../sessions/session-gate.js'
import type { UserStore } from '../users/user-store.js'
import type { User } from '../users/user.js'

type Deps = {
  users: UserStore
  gate: Pick<SessionGate, 'admitUser'>
  issuer: TokenIssuer
  messages: SecretMessages
  audit: AuditLog
  rules: { phoneEnabled: boolean; intervalMs: { email: number; phone: number } }
}

/** GET /reauthenticate (docs/specification.md#reauthentication): a nonce for the next password change. */
export class ReauthenticationService {
  constructor(private readonly deps: Deps) {}

  /** Returns the channel the nonce is sent through. */
  async sendNonce(caller: User, meta: RequestMeta): Promise<Address['kind']> {
    const { users, gate, issuer, messages, audit, rules } = this.deps
    const address = confirmedAddress(caller)
    if (address.kind === 'phone' && !rules.phoneEnabled)
      throw authError('invalid', 'phone_provider_disabled', 'Phone numbers are disabled')
    messages.refuseAddress(address)
    const send = async (tx: Tx, record: Audit) => {
      const user = gate.admitUser(await users.lockById(tx, caller.id))
      record('user_reauthenticate_requested', user, { provider: address.kind })
      const intervalMs = rules.intervalMs[address.kind]
      const issued = await issuer.issue(tx, user, {
        slot: 'reauthentication',
        address,
        from: meta.client,
        intervalMs,
      })
      if (address.kind === 'phone') await messages.sms(tx, issued, 'sms', meta)
      else await messages.mailNonce(tx, user, issued, meta)
    }
    await messages.counted([{ address, purpose: 'reauthentication' }], meta, () =>
      audit.transaction(meta, send),
    )
    return address.kind
  }
}

/** Nonces go to the email address; to the phone only if there is no email address. */
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
