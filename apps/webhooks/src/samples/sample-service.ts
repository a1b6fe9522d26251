import type { Db } from '@signet/db'
import { definitionOf, sampleEvent, type EventType } from '@signet/webhook-core'
import { findRecentBodies } from './sample-store.js'
import { recordingSamples } from './recording-samples.js'

type Deps = { db: Db; now: () => Date }

/** Example events (docs/specification.md#samples). Nothing here creates a delivery. */
export class SampleService {
  constructor(private readonly deps: Deps) {}

  /** At least one event as JSON text: the account's own events if there are any, else its recordings, else an invented one. */
  async list(accountId: string, type: EventType, limit: number): Promise<string[]> {
    const own = await this.#ownEvents(type, accountId, limit)
    return own.length > 0 ? own : [sampleEvent(type)]
  }

  async #ownEvents(type: EventType, accountId: string, limit: number): Promise<string[]> {
    const { db, now } = this.deps
    const definition = definitionOf(type)
    if (definition.subject !== 'recording') return []
    const sent = await findRecentBodies(db, accountId, type, limit)
    return sent.length > 0 ? sent : recordingSamples(db, definition, { accountId, limit, now: now() })
  }
}
