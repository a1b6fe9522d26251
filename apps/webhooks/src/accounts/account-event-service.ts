import type { RequestMeta } from '@signet/telemetry'
import type { AccountEvent } from './account-event.js'
import type { AccountRemovalService } from './account-removal-service.js'
import type { AccountService } from './account-service.js'
import type { Observer } from '../observers/observer.js'

type Deps = { accounts: AccountService; accountRemoval: AccountRemovalService; observer: Observer }

const SOURCE = 'identity'

/**
 * Applies events of the identity server. They arrive at least once and may be late, so each event contains the time when it was
 * decided, and applying it twice or in another order leads to the same state.
 */
export class AccountEventService {
  constructor(private readonly deps: Deps) {}

  /** Reports an event whose type a newer identity server knows and this version does not. */
  ignore(meta: RequestMeta): void {
    this.deps.observer.unknownAccountEvent(meta)
  }

  /** Resolves when the event is committed and therefore in effect. */
  async apply(event: AccountEvent, meta: RequestMeta): Promise<void> {
    const { accounts, accountRemoval } = this.deps
    const { accountId, decidedAt } = event
    switch (event.type) {
      case 'user.banned':
        return accounts.ban(accountId, { bannedUntil: event.bannedUntil, decidedAt }, meta)
      case 'user.unbanned':
        return accounts.ban(accountId, { bannedUntil: null, decidedAt }, meta)
      case 'user.sessions_ended':
        return accounts.endSessions(accountId, event.sessionIds, meta)
      case 'user.signed_out':
        await accounts.signOut(accountId, new Date(decidedAt), 'signed_out_everywhere', meta)
        return
      case 'user.deleted':
        await accountRemoval.begin(SOURCE, accountId, new Date(decidedAt), meta)
        accountRemoval.purgeSoon()
    }
  }
}
