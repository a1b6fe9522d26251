import type { Db } from '@signet/db'
import { definitionOf, sampleEvent, type EventCatalogue } from '@signet/webhook-core'
import { findRecentBodies, type SampleLimits } from './sample-store.js'
import { recordingSamples } from './recording-samples.js'

/** `catalogue` is for tests, which add their own event types. */
type Deps = { db: Db; now: () => Date; catalogue?: EventCatalogue }

/** Returns example events (docs/specification.md#samples). Never creates a delivery. */
export class SampleService {
  constructor(private readonly deps: Deps) {}

  /**
   * Returns at least one event as JSON text: from the account's own events if there are any, otherwise from its recordings, otherwise a
   * fictitious one.
   */
  async list(accountId: string, type: string, limits: SampleLimits): Promise<string[]> {
    const own = await this.#ownEvents(type, accountId, limits)
    return own.length > 0 ? own : [sampleEvent(type, this.deps.catalogue)]
  }

  async #ownEvents(type: string, accountId: string, limits: SampleLimits): Promise<string[]> {
    const { db, now, catalogue } = this.deps
    const definition = definitionOf(type, catalogue)
    switch (definition.subject) {
      case 'recording': {
        const sent = await findRecentBodies(db, accountId, type, limits)
        return sent.length > 0 ? sent : recordingSamples(db, definition, { accountId, ...limits, now: now() })
      }
      case 'endpoint':
        return [] // A fictitious one is as good: only the id of the endpoint differs.
    }
  }
}
