import { isUnavailable, withAdvisoryLock, type Db, type Queryable } from '@signet/db'
import type { RequestMeta } from '@signet/telemetry'
import {
  writeTombstone,
  closeAccount,
  countAccountRows,
  deleteAccountEndpoints,
  deleteAccountEvents,
  endAccountEndpoints,
  whileLocked,
} from '@signet/webhook-core/stores'
import { findUnpurgedAccounts, markPurged } from './account-removal-store.js'
import type { WebhookObserver } from '../observers/webhook-observer.js'
import { deleteCredentials } from './account-store.js'

type Deps = { db: Db; webhookObserver: WebhookObserver }

const BATCH = 1000
const ACCOUNTS = 100

/** Permanently removes accounts with everything they own. */
export class AccountRemovalService {
  readonly #stop = new AbortController()
  #purging: Promise<void> | undefined
  #again = false

  constructor(private readonly deps: Deps) {}

  /**
   * Writes the tombstone. After that, nothing of the account works, nothing can be written for it, and no attempt begins. Also deletes
   * its endpoints. {@link purge} does the work that takes longer the more rows there are.
   */
  async begin(source: string, accountId: string, deletedAt: Date, meta: RequestMeta): Promise<void> {
    const { db, webhookObserver } = this.deps
    await db.transaction((tx) => writeTombstone(tx, accountId, deletedAt))
    await endAccountEndpoints(db, accountId)
    webhookObserver.accountDeleted({ accountId, source }, meta)
  }

  /** Removes the rows of one deleted account, in batches. A repeated call finishes what was interrupted. */
  async purge(accountId: string, db: Queryable = this.deps.db): Promise<void> {
    await closeAccount(db, accountId)
    await deleteCredentials(db, accountId)
    while ((await deleteAccountEvents(db, accountId, BATCH)) > 0);
    await deleteAccountEndpoints(db, accountId)
    const left = Object.values(await countAccountRows(db, accountId)).reduce((sum, rows) => sum + rows, 0)
    if (left === 0) await markPurged(db, accountId)
  }

  /** Purges deleted accounts in the background, so that the response does not wait for it. The next run retries failures. */
  purgeSoon(): void {
    this.#again = true
    this.#purging ??= this.#purgeWhileAsked().finally(() => (this.#purging = undefined))
  }

  /** Resolves when no more purges are running. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#purging
  }

  async #purgeWhileAsked(): Promise<void> {
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false
      await this.purgeAll(this.#stop.signal).catch((error: unknown) =>
        this.deps.webhookObserver.purgeFailed(error),
      )
    }
  }

  /** Purges accounts that an interrupted process left, on one instance at a time. */
  async purgeAll(stop?: AbortSignal): Promise<void> {
    const { db, webhookObserver } = this.deps
    await withAdvisoryLock(db, 'account-purge', async (lost) => {
      const locked = whileLocked(db, lost)
      for (const accountId of await findUnpurgedAccounts(locked, ACCOUNTS)) {
        if (stop?.aborted) return
        // An account that fails, perhaps every time, must not block the others.
        await this.purge(accountId, locked).catch((error: unknown) => {
          lost.throwIfAborted()
          if (isUnavailable(error)) throw error
          webhookObserver.accountNotPurged(accountId, error)
        })
      }
    })
  }
}
