import type { Db } from '@signet/db'
import { definitionOf, sampleEvent, type EventType } from '@signet/webhook-core'
import { findRecentBodies, type SampleLimits } from './sample-store.js'
import { recordingSamples } from './recording-samples.js'

type Deps = { db: Db; now: () => Date }

/** Example events (docs/specification.md#samples). Nothing here creates a delivery. */
export class SampleService {
  constructor(private readonly deps: Deps) {}

  /** At least one event as JSON text: the account's own events if there are any, else its recordings, else an invented one. */
  async list(accountId: string, type: EventType, limits: SampleLimits): Promise<string[]> {
    const own = await this.#ownEvents(type, accountId, limits)
    return own.length > 0 ? own : [sampleEvent(type)]
  }

  async #ownEvents(type: EventType, accountId: string, limits: SampleLimits): Promise<string[]> {
    const { db, now } = this.deps
    const definition = definitionOf(type)
    if (definition.subject !== 'recording') return []
    const sent = await findRecentBodies(db, accountId, type, limits)
    return sent.length > 0 ? sent : recordingSamples(db, definition, { accountId, ...limits, now: now() })
  }
}
