import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import type { EventId } from '@signet/webhook-core'
import { concludeFirstAttempts, scheduleDeliveries } from '../src/dispatching/first-attempt-store.js'
import { deliveriesOf, dispatchInRows, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import { gate } from './support/gate.js'
import type { Subscriber } from './support/subscriber.js'

/** Longer than a test lasts, and shorter than what the sweeper takes for a mistake. */
const FAR_MS = 5 * 60_000
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

/** Deliveries of the subscriber that were due a minute ago and whose jobs wait for five more: deferred while the endpoint was slow. */
async function deferred(count: number): Promise<{ start: () => Promise<void> }> {
  const { db, queues } = dispatcher
  const created = []
  const ids: EventId[] = await subscriber.withoutQueues().summaries(count)
  for (const id of ids) created.push(...(await dispatchInRows(dispatcher, id)).created)
  const due = created.map(({ id, endpoint }) => ({
    id,
    endpointId: endpoint.id,
    accountId: endpoint.accountId,
  }))
  await scheduleDeliveries(db, due, new Date(Date.now() - 60_000))
  await concludeFirstAttempts(db, ids)
  await queues.addDeliveries(due.map((one) => ({ ...one, delayMs: FAR_MS })))
  return {
    async start() {
      await queues.startDelayed('deliveries', [`dlv_${due[0]?.id}`])
    },
  }
}

const jobsDelayed = () => dispatcher.queues.deliveries.getDelayedCount()

/** Each once, and none is left in the queue. */
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
    const { start } = await deferred(DEFERRED)
    await start()
    await allDelivered('/after-a-restart', DEFERRED)
  })

  it('start when those that kept its permits have ended quickly', async () => {
    const answered = gate()
    receiver.hook('/burst', { answers: [reply(200, { after: answered.opened })], otherwise: reply(200) })
    await subscriber.endpoint(receiver.url('/burst'))
    await deferred(DEFERRED)
    await subscriber.summaries(10)
    await waitFor(async () => (await jobsDelayed()) > DEFERRED)
    answered.open()
    await allDelivered('/burst', DEFERRED + 10)
  })

  it('wait as long as the endpoint is slow', async () => {
    const answered = gate()
    receiver.hook('/slow', { otherwise: reply(200, { after: answered.opened }) })
    const { id } = await subscriber.endpoint(receiver.url('/slow'))
    const { start } = await deferred(DEFERRED)
    await start()
    await waitFor(() => receiver.deliveries({ path: '/slow' }).length === 1)
    await dispatcher.deferredJobs.run()
    await dispatcher.deferredJobs.run()
    expect(dispatcher.limiter.roomFor(id, 100)).toBe(0)
    expect(await jobsDelayed()).toBe(DEFERRED - 1)
    answered.open()
    await allDelivered('/slow', DEFERRED)
  })
})
