import type { KeyObject } from 'node:crypto'
import type { Queryable } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { AuditActor } from '../audit/audit.js'
import type { CodeAttemptStore } from '../one-time-tokens/code-attempt-store.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { UserStore } from '../users/user-store.js'

/** Why a guess was not even compared: `reason` of its entry. */
export const TOO_MANY = 'too_many_attempts'

const WINDOW_MS = 3_600_000

type Deps = { users: UserStore; store: CodeAttemptStore; key: KeyObject; now: () => Date }

/** The audit log entries of failed attempts (docs/specification.md#audit-log). */
export class FailedProofs {
  constructor(private readonly deps: Deps) {}

  /** Who is signed in, otherwise the account of an address, otherwise the address itself: the same work for all. */
  async actorOf(db: Queryable, address: Address, userId?: string): Promise<AuditActor> {
    const { users } = this.deps
    const user = userId === undefined ? users.findByAddress(db, address) : users.findById(db, userId)
    return (await user) ?? { claimed: address.value }
  }

  /**
   * Whether this is the first refused guess in an hour for what `of` names. A refusal costs the guesser nothing, so with an entry for
   * each, anyone could fill the audit log.
   */
  isFirstRefusal(db: Queryable, ...of: readonly string[]): Promise<boolean> {
    const { store, key, now } = this.deps
    const at = now()
    const window = { now: at, endsAt: new Date(at.getTime() + WINDOW_MS) }
    return store.begin(db, keyedHash(key, 'refused', ...of), window)
  }
}
