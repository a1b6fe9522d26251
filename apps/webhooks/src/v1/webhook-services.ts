import { type Db } from '@signet/db'
import { type Logger } from '@signet/telemetry'
import { DeliveryPager, type SecretBox, type UrlPolicy, type WebhookQueues } from '@signet/webhook-core'
import { type Registry } from 'prom-client'
import { type AccountService } from '../accounts/account-service.js'
import { EndpointService } from '../endpoints/endpoint-service.js'
import { EventAnnouncer } from '../events/event-announcer.js'
import { TestEventService } from '../events/test-event-service.js'
import { createWebhookEvents } from '../events/webhook-events.js'
import { AccountRemovalService } from '../ingest/account-removal-service.js'
import { createIngestParser } from '../ingest/ingest-parser.js'
import { IngestService } from '../ingest/ingest-service.js'
import { SampleService } from '../samples/sample-service.js'

type Deps = {
  db: Db
  queues: WebhookQueues
  urlPolicy: UrlPolicy
  secretBox: SecretBox
  accounts: AccountService
  log: Logger
  registry: Registry
  now: () => Date
}

/** The services behind /v1 and ingest. */
export function createWebhookServices(deps: Deps) {
  const { db, queues, urlPolicy, secretBox, accounts, log, registry, now } = deps
  const webhookEvents = createWebhookEvents(log, registry)
  const announcer = new EventAnnouncer({
    queues,
    onMissed: (count, error) => webhookEvents.announcementMissed(count, error),
  })
  const parser = createIngestParser()
  return {
    endpoints: new EndpointService({ db, urlPolicy, secretBox, webhookEvents }),
    testEvents: new TestEventService({ db, announcer, webhookEvents, now }),
    deliveryLog: new DeliveryPager(db),
    samples: new SampleService({ db, now }),
    ingest: new IngestService({ db, announcer, webhookEvents, now }),
    accountRemoval: new AccountRemovalService({ db, accounts, webhookEvents }),
    parser,
    /** After the listeners: hands over what was committed meanwhile and ends the threads. */
    async close(): Promise<void> {
      await Promise.all([announcer.close(), parser.close()])
    },
  }
}

export type WebhookServices = ReturnType<typeof createWebhookServices>
