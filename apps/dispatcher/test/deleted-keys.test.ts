import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { connectRedis } from '@signet/redis'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { deliveryJobId } from '@signet/webhook-core/queue'
import type { DeliveryId, EndpointId, EventId } from '@signet/webhook-core'
import { deliveriesOf, dispatchInRows, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import type { Subscriber } from './support/subscriber.js'

const MINUTE_MS = 60_000

/** Somebody deleted a list of a queue, or a job's id from it. Its jobs still exist, and no script of BullMQ fails. */
describe('work whose job is in none of the lists', () => {
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
      ports: { ca: receiver.authorityCert, now: () => new Date(Date.now() + aheadMs) },
    })
    subscriber = dispatcher.subscriber()
    await subscriber.endpoint(receiver.url('/deleted-keys'))
    redis = connectRedis({ url: dispatcher.env['WEBHOOKS_REDIS_URL'] ?? '' }, 'worker')
  })
  afterEach(async () => {
    await dispatcher.stop()
    redis.disconnect()
  })
  afterAll(() => receiver.close())

  const isGone = (key: string) => waitFor(async () => (await redis.exists(key)) === 0)
  const sweep = () => dispatcher.sweeper.sweep()
  const untilDelivered = (ids: readonly EventId[]) =>
    waitFor(async () => {
      const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return ids.every((id) => rows.some(({ event_id, status }) => event_id === id && status === 1))
    })
  const expectOnce = (ids: readonly EventId[]) =>
    expect(
      receiver
        .deliveries({ path: '/deleted-keys' })
        .map(({ event }) => event?.id)
        .filter((id) => ids.some((each) => each === id))
        .sort(),
    ).toEqual([...ids].sort())

  /** Its job is found by the first sweep, and made again by a later one. */
  async function expectMadeAgain(key: string, ids: readonly EventId[]): Promise<void> {
    expect(await redis.exists(key)).toBe(1)
    aheadMs = MINUTE_MS
    dispatcher.engine.start()
    await isGone(key)
    await sweep()
    await untilDelivered(ids)
    expectOnce(ids)
  }

  it('is a retry: its time comes, and it is made', async () => {
    const { deliveries } = dispatcher.queues
    const id = await subscriber.withoutQueues().summary()
    await dispatchInRows(dispatcher, id)
    // The second run finds it left behind by the first.
    await dispatcher.firstAttempts.run(id, await dispatchInRows(dispatcher, id))
    const [row] = await deliveriesOf(dispatcher.db, subscriber.accountId)
    await deliveries.obliterate({ force: true })
    const { accountId } = subscriber
    const delivery = { id: row?.id as DeliveryId, endpointId: row?.endpoint_id as EndpointId, accountId }
    await dispatcher.queues.addDeliveries([{ ...delivery, delayMs: 1000 }])
    await redis.del(deliveries.toKey('delayed'))
    await expectMadeAgain(deliveries.toKey(deliveryJobId(delivery.id)), [id])
  })

  it('is an event', async () => {
    const { events } = dispatcher.queues
    const id = await subscriber.summary()
    await redis.lrem(events.toKey('wait'), 0, id)
    await expectMadeAgain(events.toKey(id), [id])
  })

  it('is several events of one job', async () => {
    const { events } = dispatcher.queues
    const ids = await subscriber.summaries(3)
    await redis.del(events.toKey('wait'))
    await expectMadeAgain(events.toKey(`list_${ids[0]}`), ids)
  })
})
