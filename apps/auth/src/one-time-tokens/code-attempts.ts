import type { KeyObject } from 'node:crypto'
import type { Queryable, Tx } from '@signet/db'
import { networkPath } from '@signet/rate-limits/network-path'
import type { Address } from '../addresses/address.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { CodeAttemptStore, Window } from './code-attempt-store.js'

export type CodeAttemptRules = {
  /** Wrong codes for one person and purpose in one window. */
  readonly max: number
  readonly windowMs: number
  /** Guesses for a network that requested a code, after strangers have used up theirs; never more than `max`. */
  readonly requesterMax: number
  /** How many networks get them in one window, no matter what they requested: each purpose has its own quota. */
  readonly requesters: number
  readonly knownNetworks: number
  /** How long a network counts as known to the account after the last sign-in from it. */
  readonly knownNetworkMs: number
}

type Deps = { store: CodeAttemptStore; key: KeyObject; rules: CodeAttemptRules; now: () => Date }

/** Codes are tried against the address that they went to, from a network. */
export type CodePlace = { address: Address; network: string }
/** Nonces are tried against the signed-in user. */
export type NoncePlace = { userId: string }

/** Which codes one that is typed now may be compared with: all of the address, those that its network requested, or none. */
export type Allowed = 'all' | 'own' | 'none'

/**
 * Limits how many codes can be tried against one person. The count belongs to the person, not to a code: requesting
 * another code gives no further guesses, and wrong guesses never invalidate a link. Strangers to an account share one
 * count, and each network it signed in from has its own, so strangers cannot use up the owner's. Who has yet to sign
 * in at a network is protected by asking for the code there: the first guesses of such a network at its own codes count
 * even when strangers have used up theirs (decision 0134).
 */
export class CodeAttempts {
  constructor(private readonly deps: Deps) {}

  /** As {@link allowed}, for a nonce. */
  async mayTryNonce(tx: Tx, { userId }: NoncePlace): Promise<boolean> {
    const { store, rules } = this.deps
    return (await store.count(tx, this.#idOfNonces(userId), this.#window())) <= rules.max
  }

  /**
   * Counts an attempt before the code is checked, so the limit also holds for parallel attempts. The transaction must be
   * committed even when the code is wrong.
   */
  async allowed(tx: Tx, place: CodePlace): Promise<Allowed> {
    const { store, rules } = this.deps
    const window = this.#window()
    const { now: at } = window
    const { address: sentTo, network } = place
    const ids = this.#idsOf(place)
    const knownSince = new Date(at.getTime() - rules.knownNetworkMs)
    // Always counted, so that the guesses that strangers left over are not given on top.
    const asAsker = await store.countOfAsker(tx, ids.asker, at)
    const attempts = await store.countGuess(
      tx,
      { sentTo, network, knownSince, knownNetworks: rules.knownNetworks, ids },
      window,
    )
    if (attempts <= rules.max) return 'all'
    return asAsker !== null && asAsker <= Math.min(rules.requesterMax, rules.max) ? 'own' : 'none'
  }

  /**
   * A code for the address was requested from this network; once per window, however often that happens. Of the networks that get guesses
   * for that, at most half are in one of the widest, and half as many in each narrower one: whoever has many addresses must not use up
   * what is for others.
   */
  async asked(db: Queryable, { kind, value }: Address, network: string): Promise<void> {
    const { store, rules } = this.deps
    const { asker } = this.#idsOf({ address: { kind, value }, network })
    const around = networkPath({ key: network })
      .slice(0, -1)
      .map((wider, depth) => ({
        id: this.#id('askers', kind, value, wider),
        max: Math.max(1, Math.floor(rules.requesters / 2 ** (depth + 1))),
      }))
    const all = { id: this.#id('askers', kind, value), max: rules.requesters }
    await store.putAsker(db, { asker, allowances: [...around.reverse(), all] }, this.#window())
  }

  /** The right code was given, or another proof. */
  forget(tx: Tx, place: CodePlace | NoncePlace): Promise<void> {
    const ids = 'userId' in place ? [this.#idOfNonces(place.userId)] : Object.values(this.#idsOf(place))
    return this.deps.store.forget(tx, ids)
  }

  #window(): Window {
    const now = this.deps.now()
    return { now, endsAt: new Date(now.getTime() + this.deps.rules.windowMs) }
  }

  #idsOf({ address: { kind, value }, network }: CodePlace) {
    return {
      strangers: this.#id('code', kind, value),
      known: this.#id('code', kind, value, network),
      asker: this.#id('asker', kind, value, network),
    }
  }

  #idOfNonces(userId: string): Buffer {
    return this.#id('nonce', userId)
  }

  #id(...parts: readonly string[]): Buffer {
    return keyedHash(this.deps.key, 'attempts', ...parts)
  }
}
