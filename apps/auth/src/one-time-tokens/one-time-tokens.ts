import { randomUUID } from 'node:crypto'
import type { Tx } from '@signet/db'
import type { AppError } from '@signet/errors'
import type { Address } from '../addresses/address.js'
import { tooSoon } from '../errors/auth-error.js'
import type { Challenge } from '../flows/pkce.js'
import type { Client } from '../requests/request-meta.js'
import type { PendingSignUpStore } from '../users/pending-sign-up-store.js'
import type { User } from '../users/user.js'
import type { PendingChangeStore } from '../users/pending-change-store.js'
import type { UserStore } from '../users/user-store.js'
import {
  newSecrets,
  pendingAddressOf,
  sentAtOf,
  type Secrets,
  type Slot,
  type TokenHashes,
} from './one-time-token.js'
import type { OneTimeTokenStore } from './one-time-token-store.js'

/** A filled slot, with the secrets that the database does not keep. */
export type Issued = {
  readonly id: string
  readonly userId: string
  readonly slot: Slot
  readonly address: Address
  readonly secrets: Secrets
  readonly sentAt: Date
  /** The sign-up that began with this token. It is removed if the token cannot be delivered. */
  readonly beganSignUp: string | null
}

export type TokenPurpose = {
  slot: Slot
  address: Address
  challenge?: Challenge | null
  /** The sign-up that takes effect with the token. */
  signUp?: { id: string; isNew: boolean } | null
  /** The client that requested it. Undefined for administrators, and for requests that an earlier version stored. */
  from: Client | undefined
  /** Anyone may request it, so it replaces only tokens that the same client requested before. Other tokens replace everything. */
  byAnyone?: true
}

/** What it takes to withdraw a token; stored in the outbox with the message. */
export type Withdrawable = Pick<Issued, 'id' | 'userId' | 'slot' | 'beganSignUp'> & {
  readonly sentAt: string
}

export const withdrawable = ({ id, userId, slot, sentAt, beganSignUp }: Issued): Withdrawable => ({
  id,
  userId,
  slot,
  beganSignUp,
  sentAt: sentAt.toISOString(),
})

export type OneTimeTokenRules = {
  readonly mailOtpLength: number
  readonly smsOtpLength: number
  /** Fixed codes of test numbers, until `testOtpsUntil` (docs/specification.md#test-codes). */
  readonly testOtps: ReadonlyMap<string, string>
  readonly testOtpsUntil: Date | undefined
}

/**
 * The most live secrets of one slot that clients requested. With more, strangers' guesses at a code would be likelier to succeed. With
 * fewer, requests from several networks would void the owner's secret sooner (decision 0254).
 */
export const MAX_LIVE = 3

type Deps = {
  store: OneTimeTokenStore
  signUps: PendingSignUpStore
  users: UserStore
  changes: PendingChangeStore
  hashes: TokenHashes
  rules: OneTimeTokenRules
  now: () => Date
}

/** Issues and withdraws one-time tokens. */
export class OneTimeTokens {
  constructor(private readonly deps: Deps) {}

  /** Fills a slot of a user and stamps the time. The user's row must be locked by this transaction. */
  async issue(
    tx: Tx,
    user: Pick<User, 'id'>,
    { slot, address, challenge = null, signUp = null, from, byAnyone }: TokenPurpose,
  ): Promise<Issued> {
    const { store, users, hashes, rules, now } = this.deps
    const length = address.kind === 'email' ? rules.mailOtpLength : rules.smsOtpLength
    const secrets = newSecrets(length, challenge !== null, this.testOtpOf(address))
    const requestedFrom = from === undefined ? null : hashes.ofClient(from)
    const requestedBy = byAnyone ? requestedFrom : null
    const beganSignUp = signUp?.isNew ? signUp.id : null
    const issued = { id: randomUUID(), userId: user.id, slot, address, secrets, sentAt: now(), beganSignUp }
    await store.put(
      tx,
      {
        id: issued.id,
        userId: user.id,
        slot,
        linkHash: address.kind === 'email' ? hashes.ofLink(secrets.linkToken) : null,
        otpHash: hashes.ofOtp(slot, address.value, secrets.otp),
        sentTo: address,
        signUpId: signUp?.id ?? null,
        requestedBy,
        requestedFrom,
        challenge,
      },
      MAX_LIVE - 1,
      issued.sentAt,
    )
    // Anyone may have the messages of a change sent again. That must not make an owner wait who wants to begin another change.
    if (requestedBy === null || pendingAddressOf[slot] === undefined)
      await users.update(tx, user.id, { [sentAtOf[slot]]: issued.sentAt }, issued.sentAt)
    return issued
  }

  /** Refuses a message that comes too soon after the last one of this slot (docs/specification.md#intervals). */
  checkInterval(user: User, slot: Slot, kind: Address['kind'], intervalMs: number): void {
    const refusal = this.intervalRefusal(user, slot, kind, intervalMs)
    if (refusal !== null) throw refusal
  }

  /** The error that {@link checkInterval} throws, or null. */
  intervalRefusal(user: User, slot: Slot, kind: Address['kind'], intervalMs: number): AppError | null {
    const sentAt = user[sentAtOf[slot]]
    if (sentAt === null || intervalMs === 0) return null
    const msLeft = sentAt.getTime() + intervalMs - this.deps.now().getTime()
    if (msLeft <= 0) return null
    return tooSoon(kind === 'email' ? 'over_email_send_rate_limit' : 'over_sms_send_rate_limit', msLeft)
  }

  /**
   * Withdraws a token that was never delivered, so that it neither works nor delays the next one. Also removes the sign-up and the user
   * that began with it.
   */
  async withdraw(tx: Tx, { id, userId, slot, sentAt, beganSignUp }: Withdrawable): Promise<void> {
    const { store, signUps, users, changes } = this.deps
    await users.lockById(tx, userId)
    // The token was used, or replaced by one that may still arrive.
    if (!(await store.remove(tx, id))) return
    if (beganSignUp !== null) await signUps.remove(tx, beganSignUp)
    await users.clearSentAt(tx, userId, sentAtOf[slot], new Date(sentAt))
    const pending = pendingAddressOf[slot]
    // Without a secret that can confirm it, an address is no longer pending.
    if (pending !== undefined) await changes.dropUndelivered(tx, userId, pending)
    await users.removeIfAbandoned(tx, userId)
  }

  testOtpOf({ kind, value }: Address): string | undefined {
    const { testOtps, testOtpsUntil } = this.deps.rules
    if (kind !== 'phone' || (testOtpsUntil !== undefined && this.deps.now() >= testOtpsUntil))
      return undefined
    return testOtps.get(value)
  }
}
