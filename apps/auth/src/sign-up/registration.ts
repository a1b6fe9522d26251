import { type Tx } from '@signet/db'
import { type Address } from '../addresses/address.js'
import { type Audit, type AuditLog } from '../audit/audit-log.js'
import { type Challenge } from '../flows/pkce.js'
import { type Issued } from '../one-time-tokens/one-time-tokens.js'
import { type TokenIssuer } from '../one-time-tokens/token-issuer.js'
import { type SecretMessages } from '../one-time-tokens/secret-messages.js'
import { type RequestMeta } from '../requests/request-meta.js'
import { type SmsChannel } from '../sms/sms-sender.js'
import { type Confirmations } from '../users/confirmations.js'
import { type UserStore } from '../users/user-store.js'
import { type JsonObject, type User } from '../users/user.js'
import { type UserFactory } from './user-factory.js'

export type Registration = {
  address: Address
  aud: string
  passwordHash: string
  data: JsonObject
  challenge: Challenge | null
  channel: SmsChannel
  redirectTo: string
}

/**
 * `repeated`: the address belongs to a confirmed user, nothing was done. `pending`: the user has to confirm the address
 * first. `confirmed`: a new user whose address was taken as confirmed.
 */
export type Registered<Confirmed> =
  | { kind: 'repeated'; user: User }
  | { kind: 'pending'; user: User; messageId: string | null }
  | { kind: 'confirmed'; user: User; value: Confirmed }

export type RegistrationRules = {
  autoconfirm: { email: boolean; phone: boolean }
  /** Shortest time between two confirmations to one user, in milliseconds. */
  intervalMs: { email: number; phone: number }
}

type Deps = {
  users: UserStore
  factory: UserFactory
  confirmations: Confirmations
  issuer: TokenIssuer
  messages: SecretMessages
  audit: AuditLog
  rules: RegistrationRules
}

type Outcome<C> = Registered<C> | { kind: 'issued'; user: User; issued: Issued }

/** The part of sign-up that /signup, /otp and /magiclink share (contract 1.4 steps 2 to 6). */
export class RegistrationService {
  constructor(private readonly deps: Deps) {}

  /** `onConfirmed` runs in the same transaction once a new user counts as confirmed. */
  async register<C>(
    input: Registration,
    meta: RequestMeta,
    onConfirmed: (tx: Tx, user: User) => Promise<C>,
  ): Promise<Registered<C>> {
    const { messages, rules } = this.deps
    // Before anybody is looked up: whoever has the address already must not be told apart by it.
    if (!rules.autoconfirm.email) messages.refuseAddress(input.address)
    const outcome = await this.deps.audit.transaction(meta, (tx, audit): Promise<Outcome<C>> =>
      this.#decide(tx, audit, input, onConfirmed),
    )
    if (outcome.kind !== 'issued') return outcome
    const { user, issued } = outcome
    const messageId = await this.#send(user, issued, input, meta)
    return { kind: 'pending', user, messageId }
  }

  async #decide<C>(
    tx: Tx,
    audit: Audit,
    input: Registration,
    onConfirmed: (tx: Tx, user: User) => Promise<C>,
  ): Promise<Outcome<C>> {
    const { factory, confirmations, rules } = this.deps
    const { user, isNew } = await factory.findOrInsert(tx, input)
    const { kind } = input.address
    const confirmedAt = kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt
    if (confirmedAt !== null) {
      audit('user_repeated_signup', user, { provider: kind })
      return { kind: 'repeated', user }
    }
    if (isNew && rules.autoconfirm[kind]) {
      audit('user_signedup', user, { provider: kind })
      const confirmed =
        kind === 'email'
          ? await confirmations.confirmEmail(tx, user)
          : await confirmations.confirmPhone(tx, user)
      return { kind: 'confirmed', user: confirmed, value: await onConfirmed(tx, confirmed) }
    }
    return this.#issue(tx, audit, user, input)
  }

  // Whoever signs up with an unconfirmed address may be somebody else than before: password and data stay as they are.
  async #issue(tx: Tx, audit: Audit, user: User, { address, challenge }: Registration) {
    const { issuer, users, rules } = this.deps
    audit('user_confirmation_requested', user, { provider: address.kind })
    const issued = await issuer.issue(tx, user, {
      slot: 'confirmation',
      address,
      intervalMs: rules.intervalMs[address.kind],
      challenge,
      method: 'email/signup',
    })
    return { kind: 'issued' as const, user: (await users.findById(tx, user.id)) ?? user, issued }
  }

  async #send(user: User, issued: Issued, input: Registration, meta: RequestMeta): Promise<string | null> {
    const { messages } = this.deps
    if (issued.address.kind === 'phone') return messages.sms(issued, input.channel, meta)
    await messages.mailLink('confirmation', user, issued, input.redirectTo, meta)
    return null
  }
}
