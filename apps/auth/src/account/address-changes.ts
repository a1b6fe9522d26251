import type { Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import { addressExists } from '../errors/auth-error.js'
import type { Challenge } from '../flows/pkce.js'
import type { Issued } from '../one-time-tokens/one-time-tokens.js'
import type { CountedMessage, SecretMessages } from '../messages/secret-messages.js'
import type { TokenIssuer } from '../one-time-tokens/token-issuer.js'
import type { Client, RequestMeta } from '../requests/request-meta.js'
import type { SmsChannel } from '../sms/sms-sender.js'
import type { AddressHolders } from '../proofs/address-holders.js'
import type { AddressProofs } from '../proofs/address-proofs.js'
import type { PendingChangeStore } from '../users/pending-change-store.js'
import type { UserStore } from '../users/user-store.js'
import type { User } from '../users/user.js'

export type AddressChangeRules = {
  autoconfirm: { email: boolean; phone: boolean }
  /** Both addresses must confirm an email change (docs/specification.md#email-change). */
  secureEmailChange: boolean
  intervalMs: { email: number; phone: number }
}

type Request = {
  email: string | null
  phone: string | null
  challenge: Challenge | null
  from: Client
}

/** Secrets to send with the change. */
export type PendingMessages = { emails: Issued[]; phone: Issued | null }

type Deps = {
  users: UserStore
  changes: PendingChangeStore
  holders: AddressHolders
  proofs: AddressProofs
  issuer: TokenIssuer
  messages: SecretMessages
  rules: AddressChangeRules
  now: () => Date
}

/** Changes an email address or phone number: at once, or when its owner has confirmed it. */
export class AddressChanges {
  constructor(private readonly deps: Deps) {}

  /**
   * The user's row must be locked. Checks whether another account has the address only after everything else that can refuse the request.
   * If the address is free, a message is sent to it. So every such check counts against the message quotas, no matter what it finds.
   */
  async begin(tx: Tx, userId: string, { email, phone, challenge, from }: Request): Promise<PendingMessages> {
    if (email !== null || phone !== null)
      await this.deps.proofs.requireAdoptable(tx, await this.#read(tx, userId))
    const emails = email === null ? [] : await this.#beginEmail(tx, userId, email, { challenge, from })
    const pending = { emails, phone: phone === null ? null : await this.#beginPhone(tx, userId, phone, from) }
    if (email !== null && emails.length > 0) await this.#refuseTaken(tx, { kind: 'email', value: email })
    if (phone !== null && pending.phone !== null) await this.#refuseTaken(tx, { kind: 'phone', value: phone })
    return pending
  }

  /** `user` is the user after `begin`. */
  async send(
    tx: Tx,
    user: User,
    { emails, phone }: PendingMessages,
    { redirectTo, channel }: { redirectTo: string; channel: SmsChannel },
    meta: RequestMeta,
  ): Promise<void> {
    const { messages } = this.deps
    await messages.mailChange(tx, { user, halves: emails, redirectTo }, meta)
    if (phone !== null) await messages.sms(tx, phone, channel, meta)
  }

  /**
   * Runs `work`, which starts these changes, within the message quotas. Emails to the current address have a quota of their own, which only
   * someone with a session can use up.
   */
  counted<T>(
    { email, phone }: { email: string | null; phone: string | null },
    user: Pick<User, 'email'>,
    meta: RequestMeta,
    work: () => Promise<T>,
  ): Promise<T> {
    const { messages, rules } = this.deps
    const counted: CountedMessage[] = []
    if (email !== null) counted.push({ address: { kind: 'email', value: email }, purpose: 'change' })
    if (email !== null && user.email !== null && rules.secureEmailChange)
      counted.push({ address: { kind: 'email', value: user.email }, purpose: 'change_approval' })
    if (phone !== null) counted.push({ address: { kind: 'phone', value: phone }, purpose: 'change' })
    return messages.counted(counted, meta, work)
  }

  async #refuseTaken(tx: Tx, address: Address): Promise<void> {
    if (await this.deps.holders.isTaken(tx, address)) throw addressExists(address.kind)
  }

  async #beginEmail(
    tx: Tx,
    userId: string,
    email: string,
    how: Pick<Request, 'challenge' | 'from'>,
  ): Promise<Issued[]> {
    const { changes, proofs, issuer, messages, rules, now } = this.deps
    const user = await this.#read(tx, userId)
    // An account that never had an address cannot belong to anyone else.
    if (rules.autoconfirm.email && user.isAnonymous) {
      await proofs.adopt(tx, user, { kind: 'email', value: email })
      return []
    }
    messages.refuseAddress({ kind: 'email', value: email })
    const common = { ...how, intervalMs: rules.intervalMs.email }
    const toNew = await issuer.issue(tx, user, {
      ...common,
      slot: 'email_change_new',
      address: { kind: 'email', value: email },
    })
    await changes.beginEmail(tx, user.id, { newEmail: email, token: toNew.id }, now())
    if (!rules.secureEmailChange || user.email === null) return [toNew]
    const address = { kind: 'email', value: user.email } as const
    return [toNew, await issuer.issue(tx, user, { ...common, slot: 'email_change_current', address })]
  }

  async #beginPhone(tx: Tx, userId: string, phone: string, from: Client): Promise<Issued | null> {
    const { users, proofs, issuer, messages, rules, now } = this.deps
    const user = await this.#read(tx, userId)
    if (rules.autoconfirm.phone) {
      await proofs.adopt(tx, user, { kind: 'phone', value: phone })
      return null
    }
    messages.refuseAddress({ kind: 'phone', value: phone })
    const issued = await issuer.issue(tx, user, {
      slot: 'phone_change',
      address: { kind: 'phone', value: phone },
      from,
      intervalMs: rules.intervalMs.phone,
    })
    await users.update(tx, user.id, { newPhone: phone }, now())
    return issued
  }

  async #read(tx: Tx, userId: string): Promise<User> {
    const user = await this.deps.users.findById(tx, userId)
    if (user === null) throw new Error('a locked user row has disappeared')
    return user
  }
}
