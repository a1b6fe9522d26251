import { type Db } from '@signet/db'
import { findRecentBodies, recordingSamples, type EventType } from '@signet/webhook-core'
import { syntheticSample } from './synthetic-sample.js'

type Deps = { db: Db; now: () => Date }

/** Events to look at (webhooks contract E.7). Nothing here creates a delivery. */
export class SampleService {
  constructor(private readonly deps: Deps) {}

  /** At least one event as JSON text: the account's own if there are any, else its recordings, else an invented one. */
  async list(accountId: string, type: EventType, limit: number): Promise<string[]> {
    const own = type === 'summary.completed' ? await this.#ownSummaries(accountId, limit) : []
    return own.length > 0 ? own : [JSON.stringify(syntheticSample(type))]
  }

  async #ownSummaries(accountId: string, limit: number): Promise<string[]> {
    const { db, now } = this.deps
    const sent = await findRecentBodies(db, accountId, 'summary.completed', limit)
    return sent.length > 0 ? sent : recordingSamples(db, accountId, limit, now())
  }
}
