import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { connectRedis, redisSettings } from '@signet/redis'
import { waitFor } from '@signet/testkit'
import { newEventId } from '@signet/webhook-core'
import { AdmissionWindow } from '../src/dispatching/admission-window.js'
import { createDispatchWorker } from '../src/dispatching/dispatch-worker.js'
import { EventLimiter } from '../src/dispatching/event-limiter.js'
import { EventService } from '../src/dispatching/event-service.js'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'

const PERMITS = 90
const EVENTS = 400

let receiver: Receiver
let dispatcher: TestDispatcher
beforeEach(async () => {
  receiver = await startReceiver()
  dispatcher = await startDispatcher({ start: false, ports: { ca: receiver.authorityCert } })
})
afterEach(async () => {
  await dispatcher.stop()
  await receiver.close()
})

/** The dispatcher's event worker, except that it gives the first events of a burst as long as they need on a busy machine. */
function workerWithLongMeasuring() {
  const connection = connectRedis(redisSettings(dispatcher.config), 'worker')
  const worker = createDispatchWorker({
    ...dispatcher,
    queue: { connection, prefix: dispatcher.config.queuePrefix },
    applyPause: () => Promise.resolve(),
    concurrency: PERMITS,
    events: new EventService({
      ...dispatcher,
      limiter: new EventLimiter({ capacity: PERMITS, measuringMs: 60_000 }),
      admissionWindow: new AdmissionWindow({ min: 10, max: 30 }),
    }),
  })
  const ended = worker.run()
  return {
    async stop() {
      await worker.close()
      await ended
      connection.disconnect()
    },
  }
}

/** Publishes pings of one endpoint, all at once. */
async function publishBurst(url: string): Promise<void> {
  const { db, queues } = dispatcher
  const subscriber = dispatcher.subscriber()
  const { accountId } = subscriber
  const { id: endpointId } = await subscriber.endpoint(url)
  const ids = Array.from({ length: EVENTS }, () => newEventId(new Date()))
  await db.query(
    `insert into webhook_events (id, account_id, type, target_endpoint_id, source)
     select id, $2, 'webhook.ping', $3, 'test' from unnest($1::text[]) as id`,
    [ids, accountId, endpointId],
  )
  await queues.addEvents(ids.map((id) => ({ id, accountId })))
}

async function deferredForTheirAccount(): Promise<number> {
  const metric = await dispatcher.registry.getSingleMetric('signet_delivery_deferred_total')?.get()
  return metric?.values.find(({ labels }) => labels['reason'] === 'account_full')?.value ?? 0
}

it('takes a burst to a fast receiver through the queue once, though it has permits for a few of its events only', async () => {
  const worker = workerWithLongMeasuring()
  try {
    await publishBurst(receiver.url('/burst'))
    await waitFor(() => receiver.deliveries({ path: '/burst' }).length > EVENTS / 2, {
      describe: 'half of the burst',
    })
    expect(await deferredForTheirAccount()).toBe(0)
  } finally {
    await worker.stop()
  }
})
