import { type Db } from '@signet/db'
import { findRecentBodies, type EventType } from '@signet/webhook-core'
import { syntheticSample } from './synthetic-sample.js'

/** Events to look at (webhooks contract E.7). Nothing here creates a delivery. */
export class SampleService {
  constructor(private readonly deps: { db: Db }) {}

  /** At least one event as JSON text: of the account's own if there are any, else invented. */
  async list(accountId: string, type: EventType, limit: number): Promise<string[]> {
    if (type === 'summary.completed') {
      const recent = await findRecentBodies(this.deps.db, accountId, type, limit)
      if (recent.length > 0) return recent
    }
    return [JSON.stringify(syntheticSample(type))]
  }
}
