import type { Db } from '@signet/db'
import type { RequestMeta } from '@signet/telemetry'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import { moveHeldDeliveries, releasedDeliveries } from '@signet/webhook-core/stores'
import type { Observer } from '../observers/observer.js'
import type { IdentityUser } from '../identity/user-jwt.js'
import {
  admitsUser,
  deleteSessions,
  endIdentitySessions,
  lockPersonalTokens,
  recordBan,
  recordSignOut,
  revokeGrants,
  revokePersonalTokens,
} from './account-store.js'

type Revoked = { sessions: number; grants: number; personalTokens: number }

type Deps = { db: Db; queues: Pick<WebhookQueues, 'addDeliveries'>; observer: Observer; now: () => Date }

/** Applies the identity server's decisions about accounts: sign-outs everywhere, bans and their ends. */
export class AccountService {
  constructor(private readonly deps: Deps) {}

  /**
   * Ends every session, grant and personal token derived from a sign-in at or before `signedOutAt`. Credentials that are derived from
   * such a sign-in later never work.
   */
  async signOut(accountId: string, signedOutAt: Date, reason: string, meta: RequestMeta): Promise<Revoked> {
    const revoked = await this.deps.db.transaction(async (tx) => {
      // A token that is being created exists by the time the tokens are ended; a later one finds the sign-out recorded.
      await lockPersonalTokens(tx, accountId)
      await recordSignOut(tx, accountId, signedOutAt)
      // Sessions first: a decision in flight holds its authorization row, so this waits for the grant that the decision makes, and the
      // next statement sees that grant.
      const sessions = await deleteSessions(tx, { accountId, signedOutAt })
      const grants = await revokeGrants(tx, { accountId, signedOutAt, reason })
      const personalTokens = await revokePersonalTokens(tx, { accountId, signedOutAt, reason })
      return { sessions, grants, personalTokens }
    })
    this.deps.observer.accountRevoked({ accountId, reason, ...revoked }, meta)
    return revoked
  }

  /**
   * Ends the browser sessions that were opened with these sessions of the identity server. Grants that were made in them stay, and the
   * portal lists them.
   */
  async endSessions(accountId: string, sessionIds: readonly string[], meta: RequestMeta): Promise<void> {
    const sessions = await endIdentitySessions(this.deps.db, sessionIds)
    if (sessions > 0) this.deps.observer.sessionsEnded({ accountId, sessions }, meta)
  }

  /**
   * Bans an account until a time, or lifts the ban if that is null. While banned, credentials are refused and deliveries are held.
   * `decidedAt` orders decisions that arrive out of order. Both are ISO 8601, with their original precision.
   */
  async ban(
    accountId: string,
    { bannedUntil, decidedAt }: { bannedUntil: string | null; decidedAt: string },
    meta: RequestMeta,
  ): Promise<void> {
    const { db, observer, now } = this.deps
    const at = now().toISOString()
    const outcome = await db.transaction(async (tx) => {
      const change = await recordBan(tx, { accountId, bannedUntil, decidedAt })
      if (!change?.before || change.before === change.after) return { change, moved: 0 }
      return {
        change,
        moved: await moveHeldDeliveries(tx, { accountId, from: change.before, to: change.after ?? at }),
      }
    })
    if (!outcome.change) return
    observer.accountBanned({ accountId, until: outcome.change.after, moved: outcome.moved }, meta)
    if (outcome.change.after === null && outcome.moved > 0) await this.#release(accountId, at)
  }

  /**
   * Adds jobs for rows that are due already. If a job cannot be added, because Redis is unavailable or the process ends, the sweeper
   * adds it.
   */
  async #release(accountId: string, dueAt: string): Promise<void> {
    const { db, queues, observer } = this.deps
    try {
      for await (const deliveries of releasedDeliveries(db, { accountId, dueAt }))
        await queues.addDeliveries(deliveries)
    } catch (error) {
      observer.releaseMissed(accountId, error)
    }
  }

  /** Returns false for a user who is banned or deleted, or whose JWT is older than the last sign-out everywhere. */
  admits({ accountId, issuedAt }: IdentityUser): Promise<boolean> {
    return admitsUser(this.deps.db, accountId, issuedAt)
  }
}
