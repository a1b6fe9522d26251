import type { Logger } from '@signet/telemetry'
import type { AccountEvent } from './account-event.js'
import type { AccountRemovalService } from './account-removal-service.js'
import type { AccountService } from './account-service.js'

type Deps = { accounts: AccountService; accountRemoval: AccountRemovalService }

const SOURCE = 'identity'

/**
 * Applies what the identity server tells. It tells at least once and may tell late, so each event says when it was decided,
 * and applying it twice or in another order leads to the same state.
 */
export class AccountEventService {
  constructor(private readonly deps: Deps) {}

  /** Resolves when the event is committed, and so works. */
  async apply(event: AccountEvent, log: Logger): Promise<void> {
    const { accounts, accountRemoval } = this.deps
    const { accountId, decidedAt } = event
    switch (event.type) {
      case 'user.banned':
        return accounts.ban(accountId, { bannedUntil: event.bannedUntil, decidedAt }, log)
      case 'user.unbanned':
        return accounts.ban(accountId, { bannedUntil: null, decidedAt }, log)
      case 'user.signed_out':
        await accounts.signOut(accountId, new Date(decidedAt), 'signed_out_everywhere', log)
        return
      case 'user.deleted':
        await accountRemoval.bury(SOURCE, accountId, new Date(decidedAt), log)
        accountRemoval.purgeSoon()
    }
  }
}
