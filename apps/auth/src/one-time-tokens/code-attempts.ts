import type { KeyObject } from 'node:crypto'
import type { Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { CodeAttemptStore } from './code-attempt-store.js'

export type CodeAttemptRules = {
  /** Wrong codes for one person and purpose in one window. */
  readonly max: number
  readonly windowMs: number
  /** How long after the last sign-in from there a network counts as one of the account. */
  readonly knownNetworkMs: number
}

type Deps = { store: CodeAttemptStore; key: KeyObject; rules: CodeAttemptRules; now: () => Date }

/** Codes are tried against the address that they went to, from a network; nonces against the signed-in user. */
export type Person = { address: Address; network: string } | { userId: string }

/**
 * Limits how many codes can be tried against one person. The count belongs to the person, not to a code: requesting
 * another code gives no further guesses, and wrong guesses never invalidate a link. Strangers to an account share one
 * count, and each network it signed in from has its own, so strangers cannot use up the owner's.
 */
export class CodeAttempts {
  constructor(private readonly deps: Deps) {}

  /**
   * Counts an attempt before the code is checked, so the limit also holds for parallel attempts: false once the
   * window has seen too many. The transaction must be committed even when the code is wrong.
   */
  async mayTry(tx: Tx, person: Person): Promise<boolean> {
    const { rules, now } = this.deps
    const at = now()
    return (await this.#count(tx, person, at, new Date(at.getTime() + rules.windowMs))) <= rules.max
  }

  /** The right code was given, or another proof. */
  forget(tx: Tx, person: Person): Promise<void> {
    const ids = 'userId' in person ? [this.#idOfNonces(person.userId)] : Object.values(this.#idsOf(person))
    return this.deps.store.forget(tx, ids)
  }

  #count(tx: Tx, person: Person, at: Date, windowEndsAt: Date): Promise<number> {
    const { store, rules } = this.deps
    if ('userId' in person) return store.count(tx, this.#idOfNonces(person.userId), at, windowEndsAt)
    const { address: sentTo, network } = person
    const knownSince = new Date(at.getTime() - rules.knownNetworkMs)
    return store.countGuess(tx, { sentTo, network, knownSince, ids: this.#idsOf(person) }, at, windowEndsAt)
  }

  #idsOf({ address: { kind, value }, network }: Extract<Person, { address: Address }>) {
    const { key } = this.deps
    const strangers = keyedHash(key, 'attempts', 'code', kind, value)
    return { strangers, known: keyedHash(key, 'attempts', 'code', kind, value, network) }
  }

  #idOfNonces(userId: string): Buffer {
    return keyedHash(this.deps.key, 'attempts', 'nonce', userId)
  }
}
