import type { Queryable, Tx } from '@signet/db'
import type { CodeAttempts } from '../one-time-tokens/code-attempts.js'
import { isPkceLink, sameHash, type Slot, type TokenHashes } from '../one-time-tokens/one-time-token.js'
import type { OneTimeTokenStore, StoredToken } from '../one-time-tokens/one-time-token-store.js'
import type { Client } from '../requests/request-meta.js'
import type { UserStore } from '../users/user-store.js'
import type { User } from '../users/user.js'
import { channelOf, isChange, slotsOf, type Proof, type Typist, type VerifyType } from './verify-request.js'

export type Match = {
  user: User
  token: StoredToken
  /**
   * Whether the person who uses the secret also requested it. A link leads to what it was sent for, but a code may have been typed
   * elsewhere.
   */
  isOwn: boolean
}

/** Why a secret matches nothing: it is wrong, used, expired or unknown, or it may not even be compared. */
export type Miss = 'wrong' | 'too_many'

/** `client` is the client that the secret comes from. */
type Search = {
  type: VerifyType
  proof: Proof
  client: Client
  typist?: Typist | undefined
  followed?: boolean
}

type Deps = {
  users: UserStore
  tokens: OneTimeTokenStore
  attempts: CodeAttempts
  hashes: TokenHashes
  rules: { mailTokenMs: number; smsTokenMs: number }
  now: () => Date
}

/** Finds the token of a secret and locks its user. Of many requests with the same secret, only one finds it. */
export class TokenMatcher {
  constructor(private readonly deps: Deps) {}

  /** Counts an attempt for codes, so the transaction must be committed. */
  async find(tx: Tx, search: Search): Promise<Match | Miss> {
    const found = await this.#search(tx, search)
    if (found === 'too_many') return found
    if (found === null || found.sentTo.kind !== channelOf(search.type)) return 'wrong'
    const user = await this.deps.users.lockById(tx, found.userId)
    // Look again under the lock: of two requests with the same secret, only one still finds it.
    const token = await this.#findAgain(tx, search, found)
    if (user === null || token === null || this.#isExpired(token) || !isCurrent(user, token)) return 'wrong'
    return { user, token, isOwn: this.#isOwn(token, search) }
  }

  /** Finds the token of a link that would work, without using it. */
  async look(db: Queryable, type: VerifyType, text: string): Promise<StoredToken | null> {
    const token = await this.#findLink(db, text, slotsOf[type], true)
    if (token === null || this.#isExpired(token)) return null
    const user = await this.deps.users.findById(db, token.userId)
    return user !== null && isCurrent(user, token) ? token : null
  }

  /** Consumes the secret. */
  async spend(tx: Tx, { token }: Match): Promise<void> {
    await this.deps.tokens.remove(tx, token.id)
  }

  /** Consumes the link and leaves the code of the same email. */
  async spendLink(tx: Tx, { token }: Match): Promise<void> {
    await this.deps.tokens.removeLink(tx, token.id)
  }

  /** Removes all other secrets sent to the user, and resets the count of wrong codes. */
  async spendAll(tx: Tx, { user, token }: Match, { key: network }: Client): Promise<void> {
    await this.deps.tokens.removeAll(tx, user.id)
    await this.deps.attempts.forget(tx, { address: token.sentTo, network })
  }

  #search(tx: Tx, search: Search): Promise<StoredToken | 'too_many' | null> {
    const { type, proof, followed = false } = search
    return proof.kind === 'link'
      ? this.#findLink(tx, proof.token, slotsOf[type], followed)
      : this.#findCode(tx, proof, search)
  }

  /**
   * Whether the typist requested the message with this code: in their account, as this one sign-up on our pages, or from their network. The
   * code of a stranger's sign-up arrives in an email that looks the same, so people may type it without knowing.
   */
  #isOwn({ requestedFrom, signUpId }: StoredToken, { proof, client, typist = {} }: Search): boolean {
    if (proof.kind === 'link' || typist.userId !== undefined) return true
    if (typist.signUpId !== undefined) return signUpId === typist.signUpId
    return requestedFrom !== null && sameHash(requestedFrom, this.deps.hashes.ofClient(client))
  }

  /**
   * Searches for a link again, because a spent link may leave its row to the code of the same email. A second search for a code would count
   * another attempt.
   */
  #findAgain(
    tx: Tx,
    { type, proof, followed = false }: Search,
    { id }: StoredToken,
  ): Promise<StoredToken | null> {
    return proof.kind === 'link'
      ? this.#findLink(tx, proof.token, slotsOf[type], followed)
      : this.deps.tokens.find(tx, id)
  }

  async #findLink(db: Queryable, text: string, slots: readonly Slot[], followed: boolean) {
    const { tokens, hashes } = this.deps
    const token = await tokens.findByLink(db, hashes.ofLink(text), slots)
    // Removing the prefix of a PKCE link must not turn it into a link that hands out a session.
    if (followed && isPkceLink(text) !== (token !== null && token.challenge !== null)) return null
    return token
  }

  async #findCode(
    tx: Tx,
    { address, otp }: Extract<Proof, { kind: 'otp' }>,
    { type, client, typist }: Search,
  ): Promise<StoredToken | 'too_many' | null> {
    const { tokens, attempts, hashes } = this.deps
    const userId = typist?.userId ?? null
    const allowed = await attempts.allowed(tx, { address, network: client.key })
    if (allowed === 'none') return 'too_many'
    const slots = slotsOf[type]
    return tokens.findByCode(tx, {
      hashes: slots.map((slot) => hashes.ofOtp(slot, address.value, otp)),
      slots,
      sentTo: address,
      client: hashes.ofClient(client),
      userId,
      // Several accounts may want to change to the same address, but it must not go to a stranger's account.
      among: allowed === 'all' && isChange(type) && userId === null ? 'not_of_others' : allowed,
    })
  }

  #isExpired({ sentTo, createdAt }: StoredToken): boolean {
    const { rules, now } = this.deps
    const lifeMs = sentTo.kind === 'phone' ? rules.smsTokenMs : rules.mailTokenMs
    return createdAt.getTime() + lifeMs <= now().getTime()
  }
}

/** Secrets for a former address of the account prove nothing; secrets of a change belong to the new address. */
function isCurrent(user: User, { slot, sentTo }: StoredToken): boolean {
  if (slot === 'email_change_new') return user.newEmail === sentTo.value
  if (slot === 'phone_change') return user.newPhone === sentTo.value
  return user[sentTo.kind] === sentTo.value
}
