import type { Db } from '@signet/db'
import type { SecretBox } from '@signet/webhook-core'
import type { WebhookQueues } from '@signet/webhook-core/queue'
import { DeliveryLog } from './deliveries/delivery-log.js'
import { ReplayService } from './deliveries/replay-service.js'
import { AccountRemovalService } from './accounts/account-removal-service.js'
import { EndpointHealthService } from './endpoints/endpoint-health-service.js'
import { EndpointService } from './endpoints/endpoint-service.js'
import { SecretService } from './endpoints/secret-service.js'
import type { UrlPolicy } from './endpoints/url-policy.js'
import { EventPublisher } from './events/event-publisher.js'
import { TestEventService } from './events/test-event-service.js'
import type { WebhookObserver } from './observers/webhook-observer.js'
import { BodyAdmission } from './ingest/body-admission.js'
import { createIngestParser } from './ingest/ingest-parser.js'
import { IngestService } from './ingest/ingest-service.js'
import { RecoveryService } from './recoveries/recovery-service.js'
import { SampleService } from './samples/sample-service.js'

type Deps = {
  db: Db
  queues: WebhookQueues
  urlPolicy: UrlPolicy
  secretBox: SecretBox
  webhookObserver: WebhookObserver
  now: () => Date
}

/** The services behind /v1 and ingest. */
export function createWebhookServices(deps: Deps) {
  const { db, queues, urlPolicy, secretBox, webhookObserver, now } = deps
  const publisher = new EventPublisher({
    queues,
    onMissed: (count, error) => webhookObserver.publishMissed(count, error),
  })
  const parser = createIngestParser()
  const accountRemoval = new AccountRemovalService({ db, webhookObserver })
  return {
    endpoints: new EndpointService({ db, urlPolicy, secretBox, webhookObserver }),
    recoveries: new RecoveryService({ db, webhookObserver }),
    replays: new ReplayService({ db, queues, webhookObserver }),
    endpointHealth: new EndpointHealthService(db),
    secrets: new SecretService({ db, secretBox, webhookObserver }),
    testEvents: new TestEventService({ db, publisher, webhookObserver, now }),
    deliveryLog: new DeliveryLog(db, secretBox),
    samples: new SampleService({ db, now }),
    ingest: new IngestService({ db, publisher, webhookObserver, now }),
    accountRemoval,
    parser,
    admission: new BodyAdmission(),
    /** Call after closing the listeners. Queues the events that were committed until then, and ends the threads. */
    async close(): Promise<void> {
      await Promise.all([publisher.close(), parser.close(), accountRemoval.close()])
    },
  }
}

export type WebhookServices = ReturnType<typeof createWebhookServices>
