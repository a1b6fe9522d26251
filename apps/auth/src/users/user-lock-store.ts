import type { Tx } from '@signet/db'
import type { Tables } from '../database/tables.js'
import { RestartError } from '../database/restart-error.js'

/**
 * Locks users' rows without deadlocks. A transaction waits only for its first locks, which it takes in the order of the users' ids. If it
 * needs another one later that is not free, it releases all of them and starts again with the larger set. So no two transactions wait for
 * each other, whether they move an address between accounts, let administrators act on one another or meet at a unique index.
 */
export class UserLockStore {
  /** The users that a transaction has locked so far. */
  readonly #held = new WeakMap<Tx, Set<string>>()
  /** The users that a transaction locks first, because it had to start again. */
  readonly #expected = new WeakMap<Tx, readonly string[]>()

  constructor(private readonly t: Tables) {}

  async take(tx: Tx, wanted: readonly string[]): Promise<void> {
    const held = this.#held.get(tx)
    if (held === undefined) {
      const ids = [...new Set([...wanted, ...(this.#expected.get(tx) ?? [])])]
      const rows = `select 1 from ${this.t.users} where id`
      if (ids.length === 1) await tx.query({ name: 'user_lock', text: `${rows} = $1 for no key update` }, ids)
      else {
        const text = `${rows} = any($1::uuid[]) order by id for no key update`
        await tx.query({ name: 'users_lock', text }, [ids])
      }
      this.#held.set(tx, new Set(ids))
      return
    }
    const missing = wanted.filter((id) => !held.has(id))
    if (missing.length === 0) return
    const text = `select 1 from ${this.t.users} where id = any($1::uuid[]) for no key update skip locked`
    const { rowCount } = await tx.query({ name: 'users_try_lock', text }, [missing])
    for (const id of missing) held.add(id)
    if (rowCount !== missing.length)
      throw new RestartError((next) => void this.#expected.set(next, [...held]))
  }
}
