import { type Db, type Tx } from '@signet/db'
import { type Logger } from '@signet/telemetry'
import { type Events } from '../events.js'
import { type IdentityUser } from '../identity/user-jwt.js'
import {
  deleteSessions,
  isCutOff,
  recordCutoff,
  revokeGrants,
  revokePersonalTokens,
} from './account-store.js'

type Revoked = { sessions: number; grants: number; personalTokens: number }

/** Everything by which an account is used here: browser sessions, grants with their tokens, personal tokens. */
export class AccountService {
  constructor(private readonly deps: { db: Db; events: Events }) {}

  /**
   * Ends all of it at once (webhooks contract G.1): the user was banned, signed out everywhere, or is gone. `alsoDelete`
   * runs in the same transaction, for removing an account with all it owns.
   */
  async revoke(
    accountId: string,
    reason: string,
    log: Logger,
    alsoDelete: (tx: Tx) => Promise<void> = () => Promise.resolve(),
  ): Promise<Revoked> {
    const revoked = await this.deps.db.transaction(async (tx) => {
      await recordCutoff(tx, accountId)
      // Sessions first: a decision in flight holds its authorization row, so this waits for the grant it is making, and
      // the next statement sees it.
      const sessions = await deleteSessions(tx, accountId)
      const grants = await revokeGrants(tx, accountId, reason)
      const personalTokens = await revokePersonalTokens(tx, accountId, reason)
      await alsoDelete(tx)
      return { sessions, grants, personalTokens }
    })
    this.deps.events.accountRevoked({ accountId, reason, ...revoked }, log)
    return revoked
  }

  /** False for a user whose JWT is older than the last revocation of the account. */
  async admits({ accountId, issuedAt }: IdentityUser): Promise<boolean> {
    return !(await isCutOff(this.deps.db, accountId, issuedAt))
  }
}
