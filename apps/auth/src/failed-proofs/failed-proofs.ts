import type { KeyObject } from 'node:crypto'
import type { Queryable } from '@signet/db'
import type { Address } from '../addresses/address.js'
import type { AuditActor } from '../audit/audit.js'
import type { CodeAttemptStore } from '../one-time-tokens/code-attempt-store.js'
import { keyedHash } from '../secrets/derived-keys.js'
import type { UserStore } from '../users/user-store.js'

/** The `reason` in the audit entry of a guess that was not even compared. */
export const TOO_MANY = 'too_many_attempts'

const WINDOW_MS = 3_600_000

type Deps = { users: UserStore; store: CodeAttemptStore; key: KeyObject; now: () => Date }

/** Prepares the audit entries of failed attempts (docs/specification.md#audit-log). */
export class FailedProofs {
  constructor(private readonly deps: Deps) {}

  /** The signed-in user, otherwise the account of the address, otherwise the address itself. All cases take the same work. */
  async actorOf(db: Queryable, address: Address, userId?: string): Promise<AuditActor> {
    const { users } = this.deps
    const user = userId === undefined ? users.findByAddress(db, address) : users.findById(db, userId)
    return (await user) ?? { claimed: address.value }
  }

  /**
   * Whether this is the first guess in an hour that was refused for the subject that `of` names. A refused guess costs the guesser nothing,
   * so with an entry for each one, anyone could fill the audit log.
   */
  isFirstRefusal(db: Queryable, ...of: readonly string[]): Promise<boolean> {
    const { store, key, now } = this.deps
    const at = now()
    const window = { now: at, endsAt: new Date(at.getTime() + WINDOW_MS) }
    return store.begin(db, keyedHash(key, 'refused', ...of), window)
  }
}
