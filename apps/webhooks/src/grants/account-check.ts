import { type Logger } from '@signet/telemetry'
import { type Events } from '../events.js'
import { type IdentityClient } from '../identity/identity-client.js'

/**
 * Asks the identity server whether an account still exists and is not banned, when there is a credential for it (webhooks
 * contract B.11). Without an answer the account passes: an outage over there must not sign everybody out here.
 */
export class AccountCheck {
  constructor(
    private readonly identity: IdentityClient,
    private readonly events: Events,
  ) {}

  async isUsable(accountId: string, log: Logger): Promise<boolean> {
    if (!this.identity.canAskAboutUsers) return true
    try {
      return (await this.identity.userState(accountId)) === 'active'
    } catch (error) {
      this.events.identityCallFailed('user state', error, log)
      return true
    }
  }
}
