import type { KeyObject } from 'node:crypto'
import type { Queryable, Tx } from '@signet/db'
import { networkPath } from '@signet/rate-limits/network-path'
import type { Address } from '../addresses/address.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { CodeAttemptStore, Window } from './code-attempt-store.js'

export type CodeAttemptRules = {
  /** How many codes may be tried against one person for one purpose in one window. */
  readonly max: number
  readonly windowMs: number
  /** Guesses for a network that requested a code, after strangers have used up the common ones; never more than `max`. */
  readonly requesterMax: number
  /** How many networks get these guesses in one window. What they requested does not matter: each purpose has its own quota. */
  readonly requesters: number
  readonly knownNetworks: number
  /** How long a network counts as known to the account after the last sign-in from it. */
  readonly knownNetworkMs: number
}

type Deps = { store: CodeAttemptStore; key: KeyObject; rules: CodeAttemptRules; now: () => Date }

/** Codes are tried against the address that they were sent to, from a network. */
export type CodePlace = { address: Address; network: string }
/** Nonces are tried against the signed-in user. */
export type NoncePlace = { userId: string }

/** Which codes to compare a typed one with: all of the address, those that its network requested, or none. */
export type Allowed = 'all' | 'own' | 'none'

/**
 * Limits how many codes can be tried against one person. The count belongs to the person, not to a code: requesting another code gives no
 * further guesses, and wrong guesses never invalidate a link. Strangers to an account share one count, and each network it signed in from
 * has its own, so strangers cannot use up the owner's. Owners who have not yet signed in from their network are protected because they
 * request the code there: the first guesses of such a network at its own codes count even when strangers have used up theirs
 * (decision 0134).
 */
export class CodeAttempts {
  constructor(private readonly deps: Deps) {}

  /** The same as {@link allowed}, for a nonce. */
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
    // Counted even while strangers have guesses left. Otherwise the network would get its own guesses on top of those.
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
   * Called when a code for the address is requested from this network. It counts once per window, no matter how often that happens. Of the
   * networks that get guesses this way, at most half may be inside the same widest network, and half as many inside each narrower one, so
   * that someone with many addresses cannot use up the share of others.
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

  /** Forgets the attempts, once the right code or another proof was given. */
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
