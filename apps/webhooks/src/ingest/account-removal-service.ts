import { type Db } from '@signet/db'
import { type Logger } from '@signet/telemetry'
import { closeAccount, deleteAccountEndpoints, deleteAccountEvents, lockAccount } from '@signet/webhook-core'
import { type AccountService } from '../accounts/account-service.js'
import { type WebhookEvents } from '../events/webhook-events.js'
import { type ServiceCaller } from './service-caller.js'

type Deps = { db: Db; accounts: AccountService; webhookEvents: WebhookEvents }

const BATCH = 1000

/** Removes accounts with all they own (webhooks contract G.1). */
export class AccountRemovalService {
  constructor(private readonly deps: Deps) {}

  /** Everything stops in one transaction, then the rows go in batches; a repeated call finishes what was interrupted. */
  async remove({ name }: ServiceCaller, accountId: string, log: Logger): Promise<void> {
    const { db, accounts, webhookEvents } = this.deps
    await accounts.revoke(accountId, 'account_deleted', log, async (tx) => {
      await lockAccount(tx, accountId)
      await closeAccount(tx, accountId)
    })
    while ((await deleteAccountEvents(db, accountId, BATCH)) > 0);
    await deleteAccountEndpoints(db, accountId)
    webhookEvents.accountDeleted({ accountId, source: name }, log)
  }
}
