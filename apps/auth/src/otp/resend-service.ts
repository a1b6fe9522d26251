import type { Db, Tx } from '@signet/db'
import { isSameAddress, type Address } from '../addresses/address.js'
import { normalizeEmail } from '../addresses/email.js'
import { normalizePhone } from '../addresses/phone.js'
import type { AccountRequests, Transact } from '../account-requests/account-requests.js'
import { RESEND_TYPES, type ResendType, type ResendWork } from '../account-requests/account-work.js'
import type { AuditLog } from '../audit/audit-log.js'
import { authError, invalid } from '../errors/auth-error.js'
import { challengeOf } from '../flows/pkce.js'
import type { TokenHashes } from '../one-time-tokens/one-time-token.js'
import type { Issued } from '../one-time-tokens/one-time-tokens.js'
import type { SecretMessages } from '../messages/secret-messages.js'
import type { MessageRequest } from '../messages/message-requests.js'
import type { TokenIssuer, TokenRequest } from '../one-time-tokens/token-issuer.js'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import type { MessagePurpose } from '../quotas/send-quotas.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { PendingSignUpStore } from '../users/pending-sign-up-store.js'
import type { UserStore } from '../users/user-store.js'
import type { User } from '../users/user.js'

export type ResendRequest = {
  type?: string
  email?: string
  phone?: string
  code_challenge?: string
  code_challenge_method?: string
}

const KINDS = {
  signup: { clock: 'confirmation', purpose: 'confirmation' },
  email_change: { clock: 'email_change', purpose: 'change' },
  sms: { clock: 'confirmation', purpose: 'confirmation' },
  phone_change: { clock: 'phone_change', purpose: 'change' },
} as const satisfies Record<ResendType, { clock: MessageRequest['clock']; purpose: MessagePurpose }>

type Deps = {
  db: Db
  users: UserStore
  signUps: PendingSignUpStore
  hashes: TokenHashes
  issuer: TokenIssuer
  messages: SecretMessages
  accountRequests: AccountRequests
  audit: AuditLog
  rules: {
    emailEnabled: boolean
    phoneEnabled: boolean
    /** Both addresses must confirm an email change. */
    secureEmailChange: boolean
    intervalMs: Record<ResendType, number>
  }
}

const viaOf = (type: ResendType): Address['kind'] =>
  type === 'signup' || type === 'email_change' ? 'email' : 'phone'

type How = Pick<TokenRequest, 'intervalMs' | 'challenge' | 'from' | 'byAnyone'>

/** POST /resend. Nothing in the response reveals whether anything was sent. */
export class ResendService {
  constructor(private readonly deps: Deps) {}

  async resend(
    request: ResendRequest,
    { redirectTo }: { redirectTo: string },
    meta: RequestMeta,
    transact?: Transact,
  ): Promise<void> {
    const { accountRequests, rules } = this.deps
    const { type, address } = this.#parse(request)
    const input = { type, address, challenge: challengeOf(request), redirectTo }
    const via = viaOf(type)
    await accountRequests.accept(
      { what: 'resend', input },
      { ...KINDS[type], address, via, intervalMs: rules.intervalMs[type] },
      meta,
      transact,
    )
  }

  /**
   * Sends the messages of unconfirmed sign-ups and changes again. A message to another address than the one in the request also counts
   * against that address, because several accounts may want to change to the same mailbox. It does not count against the client, which
   * could tell from it that a change is pending.
   */
  async fulfill({ type, address, challenge, redirectTo }: ResendWork, meta: MessageOrigin): Promise<void> {
    const { users, audit, messages } = this.deps
    const known = await this.#find(address)
    if (known === null) return
    const uncounted = receiversOfChange(known, type)
      .filter((to) => !isSameAddress(to, address))
      .map((to) => ({ address: to, purpose: 'change', follows: true }) as const)
    const how: How = { intervalMs: 0, challenge, from: meta.client, byAnyone: true }
    const resend = (): Promise<void> =>
      audit.transaction(meta, async (tx, record) => {
        const user = (await users.lockById(tx, known.id)) ?? known
        // A change that began in the meantime has just sent its own messages, and its address was not counted.
        if (newAddressOf(user, type) !== newAddressOf(known, type)) return
        const issued = await this.#issue(tx, user, type, how)
        const [first] = issued
        if (first === undefined) return
        record('user_confirmation_requested', user, { provider: first.address.kind })
        if (type === 'email_change') await messages.mailChange(tx, { user, halves: issued, redirectTo }, meta)
        else if (first.address.kind === 'phone') await messages.sms(tx, first, 'sms', meta)
        else await messages.mailLink(tx, { kind: 'confirmation', user, issued: first, redirectTo }, meta)
      })
    await messages.counted(uncounted, meta, resend)
  }

  async #issue(tx: Tx, user: User, type: ResendType, how: How): Promise<Issued[]> {
    switch (type) {
      case 'signup': {
        if (user.email === null || user.emailConfirmedAt !== null) return []
        return [await this.#reissueSignUp(tx, user, { kind: 'email', value: user.email }, how)]
      }
      case 'sms': {
        if (user.phone === null || user.phoneConfirmedAt !== null) return []
        const address = { kind: 'phone', value: user.phone } as const
        return [await this.#reissueSignUp(tx, user, address, { ...how, challenge: null })]
      }
      case 'phone_change': {
        if (user.newPhone === null) return []
        const address = { kind: 'phone', value: user.newPhone } as const
        const request = { ...how, slot: 'phone_change', address, challenge: null } as const
        return [await this.deps.issuer.issue(tx, user, request)]
      }
      case 'email_change':
        return this.#issueEmailChange(tx, user, how)
    }
  }

  /**
   * Anyone may ask, so the new secrets complete a sign-up only if it is the only one and came from the same client;
   * otherwise they only prove the address.
   */
  async #reissueSignUp(tx: Tx, user: User, address: Address, how: How): Promise<Issued> {
    const { issuer, signUps, hashes } = this.deps
    const id = how.from === undefined ? null : await signUps.findOwn(tx, user.id, hashes.ofClient(how.from))
    const signUp = id === null ? null : { id, isNew: false }
    return issuer.issue(tx, user, { ...how, slot: 'confirmation', address, signUp })
  }

  /** Issues only the halves that are not confirmed yet. */
  async #issueEmailChange(tx: Tx, user: User, how: How): Promise<Issued[]> {
    const { issuer, rules } = this.deps
    if (user.newEmail === null) return []
    const { email, newEmail, emailChangeConfirmStatus: confirmed } = user
    const halves = [
      { slot: 'email_change_current', value: rules.secureEmailChange && confirmed !== 2 ? email : null },
      { slot: 'email_change_new', value: confirmed === 1 ? null : newEmail },
    ] as const
    const issued: Issued[] = []
    for (const { slot, value } of halves) {
      if (value === null) continue
      issued.push(await issuer.issue(tx, user, { ...how, slot, address: { kind: 'email', value } }))
    }
    return issued
  }

  #parse({ type = '', email = '', phone = '' }: ResendRequest): { type: ResendType; address: Address } {
    const known = RESEND_TYPES.find((name) => name === type)
    if (known === undefined)
      throw invalid('Missing one of these types: signup, email_change, sms, phone_change')
    if (known === 'signup' && email === '') throw invalid('Type provided requires an email address')
    if (known === 'sms' && phone === '') throw invalid('Type provided requires a phone number')
    if ((email === '') === (phone === ''))
      throw invalid('Only an email address or phone number should be provided')
    // A request may name a change by the account's other address, so both kinds of address must be enabled.
    this.#refuseDisabled(viaOf(known))
    this.#refuseDisabled(email === '' ? 'phone' : 'email')
    return email === ''
      ? { type: known, address: { kind: 'phone', value: normalizePhone(phone) } }
      : { type: known, address: { kind: 'email', value: normalizeEmail(email) } }
  }

  #refuseDisabled(kind: Address['kind']): void {
    const { emailEnabled, phoneEnabled } = this.deps.rules
    if (kind === 'email' && !emailEnabled)
      throw authError('invalid', 'email_provider_disabled', 'Email logins are disabled')
    if (kind === 'phone' && !phoneEnabled)
      throw authError('invalid', 'phone_provider_disabled', 'Phone logins are disabled')
  }

  #find({ kind, value }: Address): Promise<User | null> {
    const { db, users } = this.deps
    return kind === 'email' ? users.findByEmail(db, value) : users.findByPhone(db, value)
  }
}

/** The new address of a pending change; undefined if the message is not about a change. */
function newAddressOf({ newEmail, newPhone }: User, type: ResendType): string | null | undefined {
  if (type === 'email_change') return newEmail
  return type === 'phone_change' ? newPhone : undefined
}

/** Where the messages of a change go: to the new address, and for an email change to the current one as well. */
function receiversOfChange(user: User, type: ResendType): Address[] {
  const value = newAddressOf(user, type)
  if (value == null) return []
  const current: Address[] =
    type === 'email_change' && user.email !== null ? [{ kind: 'email', value: user.email }] : []
  return [{ kind: viaOf(type), value }, ...current]
}
