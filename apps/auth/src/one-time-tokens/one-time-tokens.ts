import { type Queryable, type Tx } from '@signet/db'
import { randomUUID } from 'node:crypto'
import { type Address } from '../addresses/address.js'
import { tooSoon } from '../errors/auth-error.js'
import { type User } from '../users/user.js'
import { type UserStore } from '../users/user-store.js'
import {
  newSecrets,
  pendingAddressOf,
  sentAtOf,
  type Secrets,
  type Slot,
  type TokenHashes,
} from './one-time-token.js'
import { type OneTimeTokenStore } from './one-time-token-store.js'

/** A filled slot, with the secrets that the database does not keep. */
export type Issued = {
  readonly id: string
  readonly userId: string
  readonly slot: Slot
  readonly address: Address
  readonly secrets: Secrets
  readonly sentAt: Date
}

export type OneTimeTokenRules = {
  readonly mailOtpLength: number
  readonly smsOtpLength: number
  /** Fixed codes of test numbers, until `testOtpsUntil` (contract 5.5). */
  readonly testOtps: ReadonlyMap<string, string>
  readonly testOtpsUntil: Date | undefined
}

type Deps = {
  db: Queryable
  store: OneTimeTokenStore
  users: UserStore
  hashes: TokenHashes
  rules: OneTimeTokenRules
  now: () => Date
}

/** Makes and takes back one-time tokens (contract section 5). */
export class OneTimeTokens {
  constructor(private readonly deps: Deps) {}

  /** Fills a slot of a user whose row this transaction has locked, and stamps its sent-at. */
  async issue(
    tx: Tx,
    user: Pick<User, 'id'>,
    slot: Slot,
    address: Address,
    { pkce = false }: { pkce?: boolean } = {},
  ): Promise<Issued> {
    const { store, users, hashes, rules, now } = this.deps
    const length = address.kind === 'email' ? rules.mailOtpLength : rules.smsOtpLength
    const secrets = newSecrets(length, pkce, this.testOtpOf(address))
    const issued: Issued = { id: randomUUID(), userId: user.id, slot, address, secrets, sentAt: now() }
    await store.put(
      tx,
      {
        id: issued.id,
        userId: user.id,
        slot,
        linkHash: address.kind === 'email' ? hashes.ofLink(secrets.linkToken) : null,
        otpHash: hashes.ofOtp(slot, address.value, secrets.otp),
        relatesTo: address.value,
        flow: pkce ? 'pkce' : 'implicit',
      },
      issued.sentAt,
    )
    await users.update(tx, user.id, { [sentAtOf[slot]]: issued.sentAt }, issued.sentAt)
    return issued
  }

  /** Refuses a message that comes too soon after the last one of this slot (contract 5.3). */
  checkInterval(user: User, slot: Slot, kind: Address['kind'], intervalMs: number): void {
    const sentAt = user[sentAtOf[slot]]
    if (sentAt === null || intervalMs === 0) return
    const msLeft = sentAt.getTime() + intervalMs - this.deps.now().getTime()
    if (msLeft > 0)
      throw tooSoon(kind === 'email' ? 'over_email_send_rate_limit' : 'over_sms_send_rate_limit', msLeft)
  }

  /**
   * Runs `send` and, when it fails, takes the tokens and their stamps back: no token exists that was never delivered,
   * and the interval does not block the next try (contract 10.4).
   */
  async deliver<T>(issued: readonly Issued[], send: () => Promise<T>): Promise<T> {
    try {
      return await send()
    } catch (error) {
      for (const token of issued) await this.#withdraw(token)
      throw error
    }
  }

  async #withdraw({ id, userId, slot, sentAt }: Issued): Promise<void> {
    const { db, store, users } = this.deps
    await store.remove(db, id)
    await users.clearSentAt(db, userId, sentAtOf[slot], sentAt)
    const pending = pendingAddressOf[slot]
    // An address that no secret can confirm is not pending any more.
    if (pending !== undefined) await users.dropPendingAddress(db, userId, pending)
  }

  testOtpOf({ kind, value }: Address): string | undefined {
    const { testOtps, testOtpsUntil } = this.deps.rules
    if (kind !== 'phone' || (testOtpsUntil !== undefined && this.deps.now() >= testOtpsUntil))
      return undefined
    return testOtps.get(value)
  }
}
