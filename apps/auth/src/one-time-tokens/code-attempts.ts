import { type KeyObject } from 'node:crypto'
import { type Tx } from '@signet/db'
import { type Address } from '../addresses/address.js'
import { keyedHash } from '../secrets/derived-keys.js'
import { type CodeAttemptStore } from './code-attempt-store.js'

export type CodeAttemptRules = {
  /** Wrong codes for one person and purpose in one window. */
  readonly max: number
  readonly windowMs: number
}

type Deps = { store: CodeAttemptStore; key: KeyObject; rules: CodeAttemptRules; now: () => Date }

/**
 * Limits how many codes can be tried against one person. The count belongs to the person, not to a code: asking for
 * another code buys no further guesses, and wrong guesses cost nobody their link.
 */
export class CodeAttempts {
  constructor(private readonly deps: Deps) {}

  /**
   * Counts an attempt before the code is looked at, so that of many at once only so many are looked at: false when
   * the window has seen too many. The transaction must be committed even when the code is wrong.
   */
  async mayTry(tx: Tx, person: Person): Promise<boolean> {
    const { store, rules, now } = this.deps
    const at = now()
    const windowEndsAt = new Date(at.getTime() + rules.windowMs)
    return (await store.count(tx, this.#idOf(person), at, windowEndsAt)) <= rules.max
  }

  /** The right code was given. */
  forget(tx: Tx, person: Person): Promise<void> {
    return this.deps.store.forget(tx, this.#idOf(person))
  }

  #idOf(person: Person): Buffer {
    const parts =
      'userId' in person ? ['nonce', person.userId] : ['code', person.address.kind, person.address.value]
    return keyedHash(this.deps.key, 'attempts', ...parts)
  }
}

/** Codes are tried against the address that they went to, nonces against the signed-in user. */
export type Person = { address: Address } | { userId: string }
