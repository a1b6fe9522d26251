import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { deferDeliveries } from './support/deferred.js'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { gate } from './support/gate.js'
import type { Subscriber } from './support/subscriber.js'

const DEFERRED = 30

let receiver: Receiver
let dispatcher: TestDispatcher
let subscriber: Subscriber
beforeAll(async () => {
  receiver = await startReceiver()
  dispatcher = await startDispatcher({
    env: { DISPATCHER_ENDPOINT_CONCURRENCY: '1' },
    ports: { ca: receiver.authorityCert },
  })
})
beforeEach(() => {
  subscriber = dispatcher.subscriber()
})
afterAll(async () => {
  await dispatcher.stop()
  await receiver.close()
})

const jobsDelayed = () => dispatcher.queues.deliveries.getDelayedCount()

/** Waits until each delivery has arrived once and no job is left in the queue. */
async function allDelivered(path: string, count: number): Promise<void> {
  await waitFor(() => receiver.deliveries({ path }).length >= count)
  await waitFor(async () => {
    const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
    return rows.filter(({ status }) => status === 1).length === count
  })
  const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
  expect(rows.map(({ attempts }) => attempts)).toEqual(rows.map(() => 1))
  expect(receiver.deliveries({ path })).toHaveLength(count)
  expect(await jobsDelayed()).toBe(0)
}

describe('jobs that were deferred for an endpoint', () => {
  it('start when one of them shows that the endpoint is fast, whichever process had deferred them', async () => {
    await subscriber.endpoint(receiver.url('/after-a-restart'))
    const [first] = await deferDeliveries(dispatcher, subscriber, DEFERRED)
    await dispatcher.queues.startDelayed('deliveries', [first ?? ''])
    await allDelivered('/after-a-restart', DEFERRED)
  })

  it('start when those that kept its permits have ended quickly', async () => {
    const answered = gate()
    receiver.hook('/burst', { answers: [reply(200, { after: answered.opened })], otherwise: reply(200) })
    await subscriber.endpoint(receiver.url('/burst'))
    await deferDeliveries(dispatcher, subscriber, DEFERRED)
    await subscriber.summaries(10)
    await waitFor(async () => (await jobsDelayed()) > DEFERRED)
    answered.open()
    await allDelivered('/burst', DEFERRED + 10)
  })

  it('wait as long as the endpoint is slow', async () => {
    const answered = gate()
    receiver.hook('/slow', { otherwise: reply(200, { after: answered.opened }) })
    const { id } = await subscriber.endpoint(receiver.url('/slow'))
    const [first] = await deferDeliveries(dispatcher, subscriber, DEFERRED)
    await dispatcher.queues.startDelayed('deliveries', [first ?? ''])
    await waitFor(() => receiver.deliveries({ path: '/slow' }).length === 1)
    await dispatcher.deferredJobs.run()
    await dispatcher.deferredJobs.run()
    expect(dispatcher.limiter.permitsFor(id, { withinMs: 100 })).toBe(0)
    expect(await jobsDelayed()).toBe(DEFERRED - 1)
    answered.open()
    await allDelivered('/slow', DEFERRED)
  })
})
