import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '@signet/db'
import { isAppError } from '@signet/errors'
import type { Address } from '../addresses/address.js'
import type { Audit, AuditLog } from '../audit/audit-log.js'
import type { Challenge } from '../flows/pkce.js'
import type { Mailer } from '../mail/mailer.js'
import type { MessageRequests } from '../messages/message-requests.js'
import { randomDigits, type TokenHashes } from '../one-time-tokens/one-time-token.js'
import type { Issued, OneTimeTokens } from '../one-time-tokens/one-time-tokens.js'
import type { SecretMessages } from '../messages/secret-messages.js'
import type { MessageOrigin } from '../outbox/outbox-handler.js'
import type { AddressProofs } from '../proofs/address-proofs.js'
import type { RequestMeta } from '../requests/request-meta.js'
import type { SmsChannel } from '../sms/sms-sender.js'
import type { JsonObject, User } from '../users/user.js'
import type { PendingSignUpStore } from '../users/pending-sign-up-store.js'
import type { RepeatedSignUpStore } from '../users/repeated-sign-up-store.js'
import type { UserFactory } from './user-factory.js'

export type Registration = {
  address: Address
  aud: string
  /** Null for sign-in by link or code. */
  passwordHash: string | null
  data: JsonObject
  challenge: Challenge | null
  channel: SmsChannel
  redirectTo: string
  /** The page that will wait for the code chooses it; random if left out. */
  signUpId?: string | undefined
}

/**
 * `known`: the address belongs to an account, and nothing was changed. `pending`: the address must be proven first. `confirmed`: a new user
 * whose address counts as proven.
 */
export type Registered<Confirmed> =
  | { kind: 'known'; user: User; signUpId?: string }
  | { kind: 'pending'; user: User; isNew: boolean }
  | { kind: 'confirmed'; user: User; value: Confirmed }

export type RegistrationRules = {
  /** Whether addresses count as proven. If so, a sign-up reveals that an address has an account. */
  autoconfirm: { email: boolean; phone: boolean }
  /** The shortest time between two confirmations that one client requests for one address, in milliseconds. */
  intervalMs: { email: number; phone: number }
  /** Links for the owner of an account whose address is used for a sign-up. */
  accountPages: { signIn: string; recovery: string }
  /** How many unproven sign-ups with a password are kept for an address, and also how many without one. */
  maxPending: number
}

type Deps = {
  db: Db
  factory: UserFactory
  signUps: PendingSignUpStore
  repeatedSignUps: RepeatedSignUpStore
  proofs: AddressProofs
  tokens: OneTimeTokens
  hashes: TokenHashes
  requests: MessageRequests
  messages: SecretMessages
  mailer: Mailer
  audit: AuditLog
  rules: RegistrationRules
  now: () => Date
}

/** The part of signing up that /signup, /otp and /magiclink share. */
export class RegistrationService {
  constructor(private readonly deps: Deps) {}

  /**
   * Handles a sign-up whose client waits for the answer. It does the same work whether or not the address has an account: if it has one,
   * the work for a new address is done for a made-up address and rolled back. `onConfirmed` runs in the same transaction once a new user
   * counts as confirmed.
   */
  async register<C>(
    input: Registration,
    meta: RequestMeta,
    onConfirmed: (tx: Tx, user: User) => Promise<C>,
  ): Promise<Registered<C>> {
    const { db, signUps, audit, messages, rules } = this.deps
    const { address } = input
    // Runs before any lookup, so that the refusal does not reveal whether the address has an account.
    if (!rules.autoconfirm[address.kind]) messages.refuseAddress(address)
    const register = () =>
      audit.transaction(meta, async (tx, record) => {
        await this.#refuseTooSoon(tx, input, meta)
        const registered = await this.#decide(tx, record, input, meta, onConfirmed)
        await this.#level(tx, registered, input, meta)
        return registered
      })
    try {
      return await messages.counted([{ address, purpose: 'confirmation' }], meta, register)
    } catch (error) {
      // The person believes that the sign-up worked, and may request the confirmation again.
      if (isAppError(error) && error.kind === 'limited') await signUps.contest(db, address)
      throw error
    }
  }

  /** Signs up someone whose request for a link or code was already answered. */
  registerByCode(input: Registration, meta: MessageOrigin): Promise<Registered<void>> {
    return this.deps.audit.transaction(meta, (tx, record) =>
      this.#decide(tx, record, input, meta, () => Promise.resolve()),
    )
  }

  async #refuseTooSoon(tx: Tx, { address }: Registration, meta: RequestMeta): Promise<void> {
    const { requests, rules } = this.deps
    if (rules.autoconfirm[address.kind]) return
    const intervalMs = rules.intervalMs[address.kind]
    const request = { clock: 'confirmation', address, via: address.kind, intervalMs } as const
    const refusal = await requests.refusal(tx, request, meta.client)
    if (refusal !== null) throw refusal
  }

  async #decide<C>(
    tx: Tx,
    audit: Audit,
    input: Registration,
    meta: MessageOrigin,
    onConfirmed: (tx: Tx, user: User) => Promise<C>,
  ): Promise<Registered<C>> {
    const { factory, proofs, rules } = this.deps
    const { address, aud, passwordHash, data } = input
    const { kind } = address
    const { user, isNew } = await factory.findOrInsert(tx, { address, aud })
    const confirmedAt = kind === 'email' ? user.emailConfirmedAt : user.phoneConfirmedAt
    if (confirmedAt !== null) {
      audit('user_repeated_signup', user, { provider: kind })
      if (passwordHash === null || rules.autoconfirm[kind]) return { kind: 'known', user }
      return { kind: 'known', user, signUpId: await this.#keepRepeated(tx, { ...input, passwordHash }, meta) }
    }
    if (isNew && rules.autoconfirm[kind]) {
      audit('user_signedup', user, { provider: kind })
      const claim = { origin: 'self', aud, passwordHash, userMetadata: data, identityId: null } as const
      const confirmed = await proofs.confirmNew(tx, user, kind, claim)
      return { kind: 'confirmed', user: confirmed, value: await onConfirmed(tx, confirmed) }
    }
    await this.#issue(tx, audit, user, input, meta)
    return { kind: 'pending', user, isNew }
  }

  /**
   * Makes all sign-ups take the same time. Each one finds and inserts a user, issues a link, stores a password and writes a notice to an
   * owner. Steps that this address does not need are run and rolled back.
   */
  async #level<C>(tx: Tx, registered: Registered<C>, input: Registration, meta: RequestMeta): Promise<void> {
    const { factory, rules } = this.deps
    if (rules.autoconfirm[input.address.kind] || registered.kind === 'confirmed') return
    const isKnown = registered.kind === 'known'
    const isNew = registered.kind === 'pending' && registered.isNew
    const others = { ...input, signUpId: undefined }
    await tx.rehearse(async () => {
      // Finds the user that was just inserted. If the user was found before, inserts one.
      const address = isNew ? input.address : nobodysAddress(input.address.kind)
      const { user } = await factory.findOrInsert(tx, { ...input, address })
      // Send to the address in the request: sending quotas must not reveal whether it has an account, either.
      if (isKnown) return this.#issue(tx, () => undefined, user, others, meta)
      const { passwordHash } = input
      const id =
        passwordHash === null ? undefined : await this.#keepRepeated(tx, { ...others, passwordHash }, meta)
      return this.#notifyOwner(tx, user, id, input, meta)
    })
    if (isKnown) await this.#notifyOwner(tx, registered.user, registered.signUpId, input, meta)
  }

  /**
   * Tells the owner. If this message is never delivered, the sign-up ends, just like a sign-up for a new address whose confirmation email
   * fails.
   */
  async #notifyOwner(
    tx: Tx,
    { userMetadata: data }: User,
    signUpId: string | undefined,
    { address }: Registration,
    meta: RequestMeta,
  ): Promise<void> {
    if (address.kind !== 'email') return
    const { mailer, rules } = this.deps
    const { signIn: confirmationUrl, recovery: recoveryUrl } = rules.accountPages
    const { value: to } = address
    const variables = { email: to, confirmationUrl, recoveryUrl, data }
    await mailer.notify(tx, { kind: 'account_exists_notification', to, variables, signUpId }, meta)
  }

  /**
   * Several people may sign up with the same unproven address. So each sign-up gets its own link and code, which alone apply its password
   * and data to the account.
   */
  async #issue(tx: Tx, audit: Audit, user: User, input: Registration, meta: MessageOrigin): Promise<void> {
    const { address, challenge } = input
    const { tokens } = this.deps
    audit('user_confirmation_requested', user, { provider: address.kind })
    const id = await this.#keepSignUp(tx, user, input, meta)
    const issued = await tokens.issue(tx, user, {
      slot: 'confirmation',
      address,
      from: meta.client,
      challenge,
      signUp: { id, isNew: true },
    })
    await this.#send(tx, user, issued, input, meta)
  }

  /** The address has an account, which this sign-up does not change. Its password is stored only to answer sign-ins that use it. */
  async #keepRepeated(
    tx: Tx,
    { address, passwordHash, signUpId: id = randomUUID() }: Registration & { passwordHash: string },
    { client }: MessageOrigin,
  ): Promise<string> {
    const { repeatedSignUps, hashes, rules, now } = this.deps
    const requestedBy = client && hashes.ofClient(client)
    const signUp = { id, address: hashes.ofSignUp(address), passwordHash, requestedBy }
    await repeatedSignUps.insert(tx, signUp, rules.maxPending, now())
    return id
  }

  async #keepSignUp(
    tx: Tx,
    user: User,
    { address, aud, passwordHash, data, signUpId: id = randomUUID() }: Registration,
    { client }: MessageOrigin,
  ): Promise<string> {
    const { signUps, hashes, rules, now } = this.deps
    await signUps.insert(
      tx,
      {
        id,
        userId: user.id,
        origin: 'self',
        aud,
        passwordHash,
        addressKind: address.kind,
        userMetadata: data,
        identityId: null,
        requestedBy: client && hashes.ofClient(client),
      },
      now(),
    )
    await signUps.keepNewest(tx, user.id, id, rules.maxPending)
    return id
  }

  /** The message shows the data of the sign-up, which the account does not have yet. */
  async #send(tx: Tx, user: User, issued: Issued, input: Registration, meta: MessageOrigin): Promise<void> {
    const { messages } = this.deps
    const { channel, redirectTo, data } = input
    if (issued.address.kind === 'phone') return messages.sms(tx, issued, channel, meta)
    const addressee = { ...user, userMetadata: { ...user.userMetadata, ...data } }
    await messages.mailLink(tx, { kind: 'confirmation', user: addressee, issued, redirectTo }, meta)
  }
}

/** An address that cannot exist: a reserved name (RFC 2606), or a number longer than any in use. */
const nobodysAddress = (kind: Address['kind']): Address =>
  kind === 'email'
    ? { kind, value: `${randomUUID()}@nobody.invalid` }
    : { kind, value: `9${randomDigits(14)}` }
