import type { Db } from '@signet/db'
import type { EndpointId } from '@signet/webhook-core'
import { listEndpointHealth, type EndpointHealth } from '@signet/webhook-core/stores'

/** The health of an account's endpoints in the last 24 hours. */
export class EndpointHealthService {
  constructor(private readonly db: Db) {}

  ofAccount(accountId: string): Promise<ReadonlyMap<EndpointId, EndpointHealth>> {
    return listEndpointHealth(this.db, accountId)
  }
}
