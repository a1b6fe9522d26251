import type { RequestMeta } from '@signet/telemetry'
import type { Observer } from '../observers/observer.js'
import type { IdentityClient, UserState } from '../identity/identity-client.js'

/**
 * Asks the identity server whether an account is usable (docs/specification.md#token-requests). Accepts the account if there is no
 * answer.
 */
export class AccountCheck {
  constructor(
    private readonly identity: IdentityClient,
    private readonly observer: Observer,
  ) {}

  async stateOf(accountId: string, meta: RequestMeta): Promise<UserState> {
    if (!this.identity.canAskAboutUsers) return 'active'
    try {
      return await this.identity.userState(accountId)
    } catch (error) {
      this.observer.identityCallFailed('user state', error, meta)
      return 'active'
    }
  }
}
