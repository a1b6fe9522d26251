import type { KeyObject } from 'node:crypto'
import type { Queryable, Tx } from '@signet/db'
import type { Address } from '../addresses/address.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { CodeAttemptStore } from './code-attempt-store.js'

export type CodeAttemptRules = {
  /** Wrong codes for one person and purpose in one window. */
  readonly max: number
  readonly windowMs: number
  /** How long a network counts as known to the account after the last sign-in from it. */
  readonly knownNetworkMs: number
}

/** Guesses for a network that asked for a code, after strangers have used up theirs. */
const GUESSES_OF_ASKERS = 3

type Deps = { store: CodeAttemptStore; key: KeyObject; rules: CodeAttemptRules; now: () => Date }

/** Codes are tried against the address that they went to, from a network; nonces against the signed-in user. */
export type Person = { address: Address; network: string } | { userId: string }

/**
 * Limits how many codes can be tried against one person. The count belongs to the person, not to a code: requesting
 * another code gives no further guesses, and wrong guesses never invalidate a link. Strangers to an account share one
 * count, and each network it signed in from has its own, so strangers cannot use up the owner's. Who has yet to sign
 * in at a network is protected by asking for the code there: the first guesses of such a network count even when
 * strangers have used up theirs.
 */
export class CodeAttempts {
  constructor(private readonly deps: Deps) {}

  /**
   * Counts an attempt before the code is checked, so the limit also holds for parallel attempts: false once the
   * window has seen too many. The transaction must be committed even when the code is wrong.
   */
  async mayTry(tx: Tx, person: Person): Promise<boolean> {
    const { store, rules, now } = this.deps
    const at = now()
    const window = { now: at, endsAt: this.#windowEnd(at) }
    if ('userId' in person)
      return (await store.count(tx, this.#idOfNonces(person.userId), window)) <= rules.max
    const { address: sentTo, network } = person
    const ids = this.#idsOf(person)
    const knownSince = new Date(at.getTime() - rules.knownNetworkMs)
    // Always counted, so that the guesses that strangers left over are not given on top.
    const asAsker = await store.countOfAsker(tx, ids.asker, at)
    const attempts = await store.countGuess(tx, { sentTo, network, knownSince, ids }, window)
    return attempts <= rules.max || (asAsker !== null && asAsker <= Math.min(GUESSES_OF_ASKERS, rules.max))
  }

  /** A code for the address was requested from this network; once per window, however often that happens. */
  async asked(db: Queryable, address: Address, network: string): Promise<void> {
    const at = this.deps.now()
    const { asker } = this.#idsOf({ address, network })
    await this.deps.store.putAsker(db, asker, { now: at, endsAt: this.#windowEnd(at) })
  }

  /** The right code was given, or another proof. */
  forget(tx: Tx, person: Person): Promise<void> {
    const ids = 'userId' in person ? [this.#idOfNonces(person.userId)] : Object.values(this.#idsOf(person))
    return this.deps.store.forget(tx, ids)
  }

  #windowEnd(at: Date): Date {
    return new Date(at.getTime() + this.deps.rules.windowMs)
  }

  #idsOf({ address: { kind, value }, network }: Extract<Person, { address: Address }>) {
    const idOf = (...parts: readonly string[]) => keyedHash(this.deps.key, 'attempts', ...parts)
    return {
      strangers: idOf('code', kind, value),
      known: idOf('code', kind, value, network),
      asker: idOf('asker', kind, value, network),
    }
  }

  #idOfNonces(userId: string): Buffer {
    return keyedHash(this.deps.key, 'attempts', 'nonce', userId)
  }
}
