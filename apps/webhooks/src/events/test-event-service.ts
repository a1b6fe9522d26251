import type { Db } from '@signet/db'
import type { RequestMeta } from '@signet/telemetry'
import { newEventId, type EndpointId, type EventId } from '@signet/webhook-core'
import { insertPing } from './ping-store.js'
import { notFound } from '../errors/api-errors.js'
import type { EventPublisher } from './event-publisher.js'
import type { WebhookObserver } from '../observers/webhook-observer.js'

type Deps = { db: Db; publisher: EventPublisher; webhookObserver: WebhookObserver; now: () => Date }

/** Sends test events on demand (docs/specification.md#test-events). */
export class TestEventService {
  constructor(private readonly deps: Deps) {}

  /** `queued` means that the event is committed. The dispatcher decides later whether to send it. */
  async send(
    accountId: string,
    endpointId: EndpointId,
    meta: RequestMeta,
  ): Promise<{ eventId: EventId; queued: boolean }> {
    const { db, publisher, webhookObserver, now } = this.deps
    const eventId = newEventId(now())
    const result = await insertPing(db, { eventId, accountId, endpointId })
    if (result === null) throw notFound()
    const queued = result === 'queued'
    if (queued) publisher.publish({ id: eventId, accountId })
    webhookObserver.testEvent({ eventId, endpointId, accountId, queued }, meta)
    return { eventId, queued }
  }
}
