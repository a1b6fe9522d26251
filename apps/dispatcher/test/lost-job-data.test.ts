import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { connectRedis } from '@signet/redis'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { deliveryJobId, eventJobId } from '@signet/webhook-core/queue'
import type { DeliveryId, EndpointId, EventId } from '@signet/webhook-core'
import request from 'supertest'
import { createApp } from '../src/app.js'
import { deliveriesOf, dispatchInRows, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { gate } from './support/gate.js'
import type { Subscriber } from './support/subscriber.js'

const MINUTE_MS = 60_000

/** Redis evicted its hash, or somebody deleted it. Its id is still in the queue. */
describe('a job whose data Redis no longer has is dropped, and its work done by another', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  let subscriber: Subscriber
  let redis: ReturnType<typeof connectRedis>
  let aheadMs = 0
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  beforeEach(async () => {
    aheadMs = 0
    dispatcher = await startDispatcher({
      start: false,
      env: { DISPATCHER_RETRY_DELAYS_SECONDS: '1,1' },
      ports: { ca: receiver.authorityCert, now: () => new Date(Date.now() + aheadMs) },
    })
    subscriber = dispatcher.subscriber()
    redis = connectRedis({ url: dispatcher.env['WEBHOOKS_REDIS_URL'] ?? '' }, 'worker')
  })
  afterEach(async () => {
    await dispatcher.stop()
    redis.disconnect()
  })
  afterAll(() => receiver.close())

  type QueueName = 'events' | 'deliveries'
  const keyOf = (queue: QueueName, jobId: string) => dispatcher.queues[queue].toKey(jobId)
  const deleteData = async (queue: QueueName, jobId: string) =>
    expect(await redis.del(keyOf(queue, jobId))).toBe(1)
  const untilDropped = (queue: QueueName, jobId: string) =>
    waitFor(
      () =>
        dispatcher.logLines.some(
          (line) =>
            /dropped/.test(String(line['msg'])) && line['queue'] === queue && line['job_id'] === jobId,
        ),
      { describe: `the end of ${jobId}` },
    )
  const untilDelivered = (id: EventId) =>
    waitFor(async () => {
      const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return rows.some(({ event_id, status }) => event_id === id && status === 1)
    })
  const isGone = async (queue: QueueName, jobId: string) =>
    waitFor(async () => (await redis.exists(keyOf(queue, jobId))) === 0)

  /** The job ends without being able to say so. What follows would take until its lock has expired. */
  async function expireLock(queue: QueueName, jobId: string): Promise<void> {
    await waitFor(() => dispatcher.logLines.some(({ msg }) => msg === 'queue error'))
    await redis.del(`${keyOf(queue, jobId)}:lock`)
  }

  /** What makes others go on: the sweeper, a minute later. */
  async function sweep(): Promise<void> {
    aheadMs = MINUTE_MS
    await dispatcher.sweeper.sweep()
  }

  async function expectCounted(queue: QueueName): Promise<void> {
    const { text } = await request(createApp(dispatcher)).get('/metrics')
    expect(text).toContain(`signet_delivery_dropped_jobs_total{queue="${queue}"} 1`)
  }

  /** A delivery whose job waits in the queue, as if there had been no permit for its first attempt. */
  async function scheduled(): Promise<{ eventId: EventId; jobId: string }> {
    const eventId = await subscriber.withoutQueues().summary()
    await dispatchInRows(dispatcher, eventId)
    // The second run finds it left behind by the first.
    await dispatcher.firstAttempts.run(eventId, await dispatchInRows(dispatcher, eventId))
    const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
    const row = rows.find(({ event_id }) => event_id === eventId)
    return { eventId, jobId: deliveryJobId(row?.id as DeliveryId) }
  }

  it('of the events queue, while it waits', async () => {
    await subscriber.endpoint(receiver.url('/waiting-event'))
    const id = await subscriber.summary()
    const next = await subscriber.summary()
    await deleteData('events', eventJobId(id))
    dispatcher.engine.start()
    await untilDropped('events', eventJobId(id))
    await untilDelivered(next)
    await isGone('events', eventJobId(id))
    await sweep()
    await untilDelivered(id)
    await expectCounted('events')
  })

  it.each(['{"attempts":', 'null'])('of either queue, if its options are %s', async (opts) => {
    await subscriber.endpoint(receiver.url('/broken-options'))
    const event = await subscriber.summary()
    const { eventId, jobId } = await scheduled()
    const next = [await subscriber.summary(), (await scheduled()).eventId]
    await redis.hset(keyOf('events', eventJobId(event)), { opts })
    await redis.hset(keyOf('deliveries', jobId), { opts })
    dispatcher.engine.start()
    await untilDropped('events', eventJobId(event))
    await untilDropped('deliveries', jobId)
    for (const id of next) await untilDelivered(id)
    await isGone('events', eventJobId(event))
    await isGone('deliveries', jobId)
    await sweep()
    for (const id of [event, eventId]) await untilDelivered(id)
    await expectCounted('events')
    await expectCounted('deliveries')
  })

  it('of either queue, if something else has its key', async () => {
    await subscriber.endpoint(receiver.url('/other-type'))
    const event = await subscriber.summary()
    const { eventId, jobId } = await scheduled()
    const next = [await subscriber.summary(), (await scheduled()).eventId]
    for (const key of [keyOf('events', eventJobId(event)), keyOf('deliveries', jobId)])
      await redis.set(key, 'x')
    dispatcher.engine.start()
    await untilDropped('events', eventJobId(event))
    await untilDropped('deliveries', jobId)
    for (const id of next) await untilDelivered(id)
    await sweep()
    for (const id of [event, eventId]) await untilDelivered(id)
    const deliveries = receiver.deliveries({ path: '/other-type' })
    expect(new Set(deliveries.map(({ event }) => event?.id)).size).toBe(deliveries.length)
    await expectCounted('events')
    await expectCounted('deliveries')
  })

  it('of the deliveries queue, while it is delayed', async () => {
    await subscriber.endpoint(receiver.url('/broken-delayed'))
    const { eventId, jobId } = await scheduled()
    // Delayed by a clock that was fast, so that the sweeper starts it.
    const [row] = await deliveriesOf(dispatcher.db, subscriber.accountId)
    await dispatcher.queues.deliveries.obliterate({ force: true })
    const { accountId } = subscriber
    const ids = { id: row?.id as DeliveryId, endpointId: row?.endpoint_id as EndpointId }
    await dispatcher.queues.addDeliveries([{ ...ids, accountId, delayMs: 10 * MINUTE_MS }])
    await redis.hset(keyOf('deliveries', jobId), { opts: '{' })
    await sweep()
    dispatcher.engine.start()
    await untilDropped('deliveries', jobId)
    await sweep()
    await untilDelivered(eventId)
  })

  it('of the events queue, while it runs', async () => {
    const path = '/active-event'
    const answer = gate()
    receiver.hook(path, { answers: [reply(500, { after: answer.opened })] })
    await subscriber.endpoint(receiver.url(path))
    dispatcher.engine.start()
    const id = await subscriber.summary()
    await receiver.waitForDelivery({ path })
    await deleteData('events', eventJobId(id))
    answer.open()
    await expireLock('events', eventJobId(id))
    await untilDropped('events', eventJobId(id))
    await untilDelivered(await subscriber.summary())
    await sweep()
    await untilDelivered(id)
    await expectCounted('events')
  })

  it('of the deliveries queue, while it waits', async () => {
    await subscriber.endpoint(receiver.url('/waiting-delivery'))
    const lost = await scheduled()
    const next = await scheduled()
    await deleteData('deliveries', lost.jobId)
    dispatcher.engine.start()
    await untilDropped('deliveries', lost.jobId)
    await untilDelivered(next.eventId)
    await isGone('deliveries', lost.jobId)
    await sweep()
    await untilDelivered(lost.eventId)
    await expectCounted('deliveries')
  })

  it('of the deliveries queue, while it runs', async () => {
    const path = '/active-delivery'
    const answer = gate()
    receiver.hook(path, { answers: [reply(500, { after: answer.opened })] })
    await subscriber.endpoint(receiver.url(path))
    const { eventId, jobId } = await scheduled()
    dispatcher.engine.start()
    await receiver.waitForDelivery({ path })
    await deleteData('deliveries', jobId)
    answer.open()
    await expireLock('deliveries', jobId)
    await untilDropped('deliveries', jobId)
    await untilDelivered((await scheduled()).eventId)
    await sweep()
    await untilDelivered(eventId)
    await expectCounted('deliveries')
  })
})
