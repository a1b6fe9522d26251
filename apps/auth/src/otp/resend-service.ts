import { type Db, type Tx } from '@signet/db'
import { type Address } from '../addresses/address.js'
import { normaliseEmail } from '../addresses/email.js'
import { normalisePhone } from '../addresses/phone.js'
import { type AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import { challengeOf, type Challenge } from '../flows/pkce.js'
import { type Slot } from '../one-time-tokens/one-time-token.js'
import { type OneTimeTokenStore } from '../one-time-tokens/one-time-token-store.js'
import { type Issued } from '../one-time-tokens/one-time-tokens.js'
import { type SecretMessages } from '../one-time-tokens/secret-messages.js'
import { type UnsentMessages } from '../one-time-tokens/unsent-messages.js'
import { type TokenIssuer } from '../one-time-tokens/token-issuer.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type UserStore } from '../users/user-store.js'
import { type User } from '../users/user.js'

export type ResendRequest = {
  type?: string
  email?: string
  phone?: string
  code_challenge?: string
  code_challenge_method?: string
}

const TYPES = ['signup', 'email_change', 'sms', 'phone_change'] as const
type ResendType = (typeof TYPES)[number]

const SLOTS = {
  signup: 'confirmation',
  email_change: 'email_change_new',
  sms: 'confirmation',
  phone_change: 'phone_change',
} as const satisfies Record<ResendType, Slot>

type Deps = {
  db: Db
  users: UserStore
  tokens: OneTimeTokenStore
  issuer: TokenIssuer
  messages: SecretMessages
  unsent: UnsentMessages
  audit: AuditLog
  rules: { emailEnabled: boolean; phoneEnabled: boolean; intervalMs: { email: number; phone: number } }
}

/** POST /resend (contract 1.12). Nothing in the outcome tells whether anything was sent. */
export class ResendService {
  constructor(private readonly deps: Deps) {}

  /** Returns the gateway's message id when an SMS was sent, for the log. */
  async resend(
    request: ResendRequest,
    { aud, redirectTo }: { aud: string; redirectTo: string },
    meta: RequestMeta,
  ): Promise<string | null> {
    const { users, audit } = this.deps
    const { type, address } = this.#parse(request)
    const challenge = challengeOf(request)
    const known = await this.#find(address, aud)
    if (known === null) return this.#pretend(type, address, aud, meta)
    const { user, issued } = await audit.transaction(meta, async (tx, record) => {
      const locked = (await users.lockById(tx, known.id)) ?? known
      const tokens = await this.#issue(tx, locked, type, challenge)
      if (tokens.length > 0)
        record('user_confirmation_requested', locked, { provider: tokens[0]?.address.kind })
      return { user: locked, issued: tokens }
    })
    if (issued.length === 0) return this.#pretend(type, address, aud, meta)
    return this.#send(type, user, issued, redirectTo, meta)
  }

  async #send(
    type: ResendType,
    user: User,
    issued: readonly Issued[],
    redirectTo: string,
    meta: RequestMeta,
  ) {
    const { messages } = this.deps
    const [first] = issued
    if (type === 'email_change') await messages.mailChange(user, issued, redirectTo, meta)
    else if (first?.address.kind === 'email')
      await messages.mailLink('confirmation', user, first, redirectTo, meta)
    else if (first !== undefined) return messages.sms(first, 'sms', meta)
    return null
  }

  async #pretend(type: ResendType, address: Address, aud: string, meta: RequestMeta): Promise<null> {
    const { unsent, rules } = this.deps
    const via = type === 'signup' || type === 'email_change' ? 'email' : 'phone'
    const intervalMs = rules.intervalMs[via]
    await unsent.ask({ slot: SLOTS[type], address, aud, via, intervalMs }, meta)
    return null
  }

  async #issue(tx: Tx, user: User, type: ResendType, challenge: Challenge | null): Promise<Issued[]> {
    const { issuer, rules } = this.deps
    const { intervalMs } = rules
    switch (type) {
      case 'signup': {
        if (user.email === null || user.emailConfirmedAt !== null) return []
        const address = { kind: 'email', value: user.email } as const
        return [
          await issuer.issue(tx, user, {
            slot: 'confirmation',
            address,
            intervalMs: intervalMs.email,
            challenge,
            method: 'email/signup',
          }),
        ]
      }
      case 'sms': {
        if (user.phone === null || user.phoneConfirmedAt !== null) return []
        const address = { kind: 'phone', value: user.phone } as const
        return [await issuer.issue(tx, user, { slot: 'confirmation', address, intervalMs: intervalMs.phone })]
      }
      case 'phone_change': {
        if (user.newPhone === null) return []
        const address = { kind: 'phone', value: user.newPhone } as const
        return [await issuer.issue(tx, user, { slot: 'phone_change', address, intervalMs: intervalMs.phone })]
      }
      case 'email_change':
        return this.#issueEmailChange(tx, user, challenge)
    }
  }

  /** Only the halves that are still to be confirmed. */
  async #issueEmailChange(tx: Tx, user: User, challenge: Challenge | null): Promise<Issued[]> {
    const { tokens, issuer, rules } = this.deps
    if (user.newEmail === null) return []
    const halves = [
      { slot: 'email_change_current', value: user.email },
      { slot: 'email_change_new', value: user.newEmail },
    ] as const
    const issued: Issued[] = []
    for (const { slot, value } of halves) {
      if (value === null || !(await tokens.hasSlot(tx, user.id, slot))) continue
      const request = { slot, address: { kind: 'email', value }, intervalMs: rules.intervalMs.email } as const
      // One flow serves both links.
      const flow = issued.length === 0 ? { challenge, method: 'email_change' as const } : { challenge }
      issued.push(await issuer.issue(tx, user, { ...request, ...flow }))
    }
    return issued
  }

  #parse({ type = '', email = '', phone = '' }: ResendRequest): { type: ResendType; address: Address } {
    const { rules } = this.deps
    const known = TYPES.find((name) => name === type)
    if (known === undefined)
      throw invalid('Missing one of these types: signup, email_change, sms, phone_change')
    if (known === 'signup' && email === '') throw invalid('Type provided requires an email address')
    if (known === 'sms' && phone === '') throw invalid('Type provided requires a phone number')
    if ((email === '') === (phone === ''))
      throw invalid('Only an email address or phone number should be provided')
    if (email !== '') {
      if (!rules.emailEnabled)
        throw authError('invalid', 'email_provider_disabled', 'Email logins are disabled')
      return { type: known, address: { kind: 'email', value: normaliseEmail(email) } }
    }
    if (!rules.phoneEnabled)
      throw authError('invalid', 'phone_provider_disabled', 'Phone logins are disabled')
    return { type: known, address: { kind: 'phone', value: normalisePhone(phone) } }
  }

  #find({ kind, value }: Address, aud: string): Promise<User | null> {
    const { db, users } = this.deps
    return kind === 'email' ? users.findByEmail(db, value, aud) : users.findByPhone(db, value, aud)
  }
}
