import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'
import { connectRedis } from '@signet/redis'
import { waitFor } from '@signet/testkit'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import type { DeliveryId, EndpointId, EventId } from '@signet/webhook-core'
import { deliveriesOf, dispatchInRows, startDispatcher, type TestDispatcher } from './dispatcher.js'
import type { Subscriber } from './subscriber.js'

const MINUTE_MS = 60_000

type Rig = {
  receiver: Receiver
  /** Its engine does not run until the test starts it. */
  dispatcher: TestDispatcher
  subscriber: Subscriber
  /** For damaging what the queues store in Redis. */
  redis: ReturnType<typeof connectRedis>
}

/** Gives each test of a file a dispatcher whose queues fill up until the test starts its engine. */
export function useIdleDispatcher({ env = {} }: { env?: Record<string, string> } = {}) {
  let receiver: Receiver | undefined
  let rig: Rig | undefined
  let aheadMs = 0
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  beforeEach(async () => {
    if (!receiver) throw new Error('no receiver')
    aheadMs = 0
    const dispatcher = await startDispatcher({
      start: false,
      env,
      ports: { ca: receiver.authorityCert, now: () => new Date(Date.now() + aheadMs) },
    })
    const redis = connectRedis({ url: dispatcher.env['WEBHOOKS_REDIS_URL'] ?? '' }, 'worker')
    rig = { receiver, dispatcher, subscriber: dispatcher.subscriber(), redis }
  })
  afterEach(async () => {
    await rig?.dispatcher.stop()
    rig?.redis.disconnect()
  })
  afterAll(() => receiver?.close())

  const current = (): Rig => {
    if (!rig) throw new Error('a rig belongs to a test')
    return rig
  }
  const rows = () => deliveriesOf(current().dispatcher.db, current().subscriber.accountId)

  return {
    get receiver() {
      return current().receiver
    },
    get dispatcher() {
      return current().dispatcher
    },
    get subscriber() {
      return current().subscriber
    },
    get redis() {
      return current().redis
    },
    rows,

    /** Moves the clock ahead, so that what is queued by now is old enough for the sweeper. */
    passMinute: () => void (aheadMs = MINUTE_MS),

    untilDelivered: (...ids: readonly EventId[]) =>
      waitFor(async () => {
        const found = await rows()
        return ids.every((id) => found.some(({ event_id, status }) => event_id === id && status === 1))
      }),

    untilGone: (key: string) => waitFor(async () => (await current().redis.exists(key)) === 0),

    /** Makes a delivery whose job is in the queue, as if there had been no permit for its first attempt. */
    async deferredDelivery() {
      const { dispatcher, subscriber } = current()
      const eventId = await subscriber.withoutQueues().summary()
      await dispatchInRows(dispatcher, eventId)
      // The second run finds the delivery that the first one left behind.
      await dispatcher.firstAttempts.run(eventId, await dispatchInRows(dispatcher, eventId))
      const row = (await rows()).find(({ event_id }) => event_id === eventId)
      if (!row) throw new Error('no delivery')
      return { eventId, deliveryId: row.id as DeliveryId, endpointId: row.endpoint_id as EndpointId }
    },
  }
}
