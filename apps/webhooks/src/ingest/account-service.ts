import { type Db } from '@signet/db'
import { closeAccount, deleteAccountEndpoints, deleteAccountEvents } from '@signet/webhook-core'
import { type WebhookEvents } from '../events/webhook-events.js'
import { type ServiceCaller } from './service-caller.js'

type Deps = {
  db: Db
  /** Ends every session, grant and personal token of an account. */
  revokeAccess: (accountId: string, reason: string) => Promise<unknown>
  webhookEvents: WebhookEvents
}

const BATCH = 1000

/** The end of accounts, as the identity server tells it (webhooks contract G.1). */
export class AccountService {
  constructor(private readonly deps: Deps) {}

  /** Nobody can use the account any more. Subscriptions stay: the owner may come back. */
  async revoke(accountId: string, reason: string): Promise<void> {
    await this.deps.revokeAccess(accountId, reason)
  }

  /** First everything stops, then the rows go in batches; repeating it after a failure finishes the rest. */
  async remove({ name }: ServiceCaller, accountId: string): Promise<void> {
    const { db, revokeAccess, webhookEvents } = this.deps
    await revokeAccess(accountId, 'account_deleted')
    await closeAccount(db, accountId)
    while ((await deleteAccountEvents(db, accountId, BATCH)) > 0);
    await deleteAccountEndpoints(db, accountId)
    webhookEvents.accountDeleted({ accountId, source: name })
  }
}
