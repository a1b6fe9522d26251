import { type Db } from '@signet/db'
import { type Logger } from '@signet/telemetry'
import { insertPing, newEventId, type EndpointId, type EventId } from '@signet/webhook-core'
import { notFound } from '../http/v1-dialect.js'
import { type EventAnnouncer } from './event-announcer.js'
import { type WebhookEvents } from './webhook-events.js'

type Deps = { db: Db; announcer: EventAnnouncer; webhookEvents: WebhookEvents; now: () => Date }

/** Test events on demand (webhooks contract E.6). */
export class TestEventService {
  constructor(private readonly deps: Deps) {}

  /** `queued` means that the event is committed; whether it is sent is decided when it is dispatched. */
  async send(
    accountId: string,
    endpointId: EndpointId,
    log: Logger,
  ): Promise<{ eventId: EventId; queued: boolean }> {
    const { db, announcer, webhookEvents, now } = this.deps
    const eventId = newEventId(now())
    const result = await insertPing(db, { eventId, accountId, endpointId })
    if (result === null) throw notFound()
    const queued = result === 'queued'
    if (queued) announcer.announce(eventId)
    webhookEvents.testEvent({ eventId, endpointId, accountId, queued }, log)
    return { eventId, queued }
  }
}
