import { describe, expect, it } from '@jest/globals'
import { reply } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { deliveryJobId, eventJobId } from '@signet/webhook-core/queue'
import type { EventId } from '@signet/webhook-core'
import request from 'supertest'
import { createApp } from '../src/app.js'
import { gate } from './support/gate.js'
import { useIdleDispatcher } from './support/idle-dispatcher.js'

const MINUTE_MS = 60_000

/** Redis evicted the job's hash, or someone deleted it. The job's id is still in the queue. */
describe('a job whose data Redis no longer has is dropped, and its work done by another', () => {
  const rig = useIdleDispatcher({ env: { DISPATCHER_RETRY_DELAYS_SECONDS: '1,1' } })
  const { untilDelivered } = rig

  type QueueName = 'events' | 'deliveries'
  const keyOf = (queue: QueueName, jobId: string) => rig.dispatcher.queues[queue].toKey(jobId)
  const deleteData = async (queue: QueueName, jobId: string) =>
    expect(await rig.redis.del(keyOf(queue, jobId))).toBe(1)
  const untilDropped = (queue: QueueName, jobId: string) =>
    waitFor(
      () =>
        rig.dispatcher.logLines.some(
          (line) =>
            /dropped/.test(String(line['msg'])) && line['queue'] === queue && line['job_id'] === jobId,
        ),
      { describe: `the end of ${jobId}` },
    )
  const isGone = (queue: QueueName, jobId: string) => rig.untilGone(keyOf(queue, jobId))

  /** Removes the lock of a job that ended but could not say so. Without this, a test would wait until the lock expires. */
  async function expireLock(queue: QueueName, jobId: string): Promise<void> {
    await waitFor(() => rig.dispatcher.logLines.some(({ msg }) => msg === 'queue error'))
    await rig.redis.del(`${keyOf(queue, jobId)}:lock`)
  }

  /** Runs the sweeper a minute later, so that other jobs take over. */
  async function sweep(): Promise<void> {
    rig.passMinute()
    await rig.dispatcher.sweeper.sweep()
  }

  async function expectCounted(queue: QueueName): Promise<void> {
    const { text } = await request(createApp(rig.dispatcher)).get('/metrics')
    expect(text).toContain(`signet_delivery_dropped_jobs_total{queue="${queue}"} 1`)
  }

  async function scheduled(): Promise<{ eventId: EventId; jobId: string }> {
    const { eventId, deliveryId } = await rig.deferredDelivery()
    return { eventId, jobId: deliveryJobId(deliveryId) }
  }

  it('of the events queue, while it waits', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/waiting-event'))
    const id = await rig.subscriber.summary()
    const next = await rig.subscriber.summary()
    await deleteData('events', eventJobId(id))
    rig.dispatcher.engine.start()
    await untilDropped('events', eventJobId(id))
    await untilDelivered(next)
    await isGone('events', eventJobId(id))
    await sweep()
    await untilDelivered(id)
    await expectCounted('events')
  })

  it.each(['{"attempts":', 'null'])('of either queue, if its options are %s', async (opts) => {
    await rig.subscriber.endpoint(rig.receiver.url('/broken-options'))
    const event = await rig.subscriber.summary()
    const { eventId, jobId } = await scheduled()
    const next = [await rig.subscriber.summary(), (await scheduled()).eventId]
    await rig.redis.hset(keyOf('events', eventJobId(event)), { opts })
    await rig.redis.hset(keyOf('deliveries', jobId), { opts })
    rig.dispatcher.engine.start()
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
    await rig.subscriber.endpoint(rig.receiver.url('/other-type'))
    const event = await rig.subscriber.summary()
    const { eventId, jobId } = await scheduled()
    const next = [await rig.subscriber.summary(), (await scheduled()).eventId]
    for (const key of [keyOf('events', eventJobId(event)), keyOf('deliveries', jobId)])
      await rig.redis.set(key, 'x')
    rig.dispatcher.engine.start()
    await untilDropped('events', eventJobId(event))
    await untilDropped('deliveries', jobId)
    for (const id of next) await untilDelivered(id)
    await sweep()
    for (const id of [event, eventId]) await untilDelivered(id)
    const deliveries = rig.receiver.deliveries({ path: '/other-type' })
    expect(new Set(deliveries.map(({ event }) => event?.id)).size).toBe(deliveries.length)
    await expectCounted('events')
    await expectCounted('deliveries')
  })

  it('of the deliveries queue, while it is delayed', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/broken-delayed'))
    const { eventId, deliveryId, endpointId } = await rig.deferredDelivery()
    const jobId = deliveryJobId(deliveryId)
    const { queues } = rig.dispatcher
    // A fast clock delayed the job, so the sweeper starts it.
    await queues.deliveries.obliterate({ force: true })
    const { accountId } = rig.subscriber
    await queues.addDeliveries([{ id: deliveryId, endpointId, accountId, delayMs: 10 * MINUTE_MS }])
    await rig.redis.hset(keyOf('deliveries', jobId), { opts: '{' })
    await sweep()
    rig.dispatcher.engine.start()
    await untilDropped('deliveries', jobId)
    await sweep()
    await untilDelivered(eventId)
  })

  it('of the events queue, while it runs', async () => {
    const path = '/active-event'
    const answer = gate()
    rig.receiver.hook(path, { answers: [reply(500, { after: answer.opened })] })
    await rig.subscriber.endpoint(rig.receiver.url(path))
    rig.dispatcher.engine.start()
    const id = await rig.subscriber.summary()
    await rig.receiver.waitForDelivery({ path })
    await deleteData('events', eventJobId(id))
    answer.open()
    await expireLock('events', eventJobId(id))
    await untilDropped('events', eventJobId(id))
    await untilDelivered(await rig.subscriber.summary())
    await sweep()
    await untilDelivered(id)
    await expectCounted('events')
  })

  it('of the deliveries queue, while it waits', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/waiting-delivery'))
    const lost = await scheduled()
    const next = await scheduled()
    await deleteData('deliveries', lost.jobId)
    rig.dispatcher.engine.start()
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
    rig.receiver.hook(path, { answers: [reply(500, { after: answer.opened })] })
    await rig.subscriber.endpoint(rig.receiver.url(path))
    const { eventId, jobId } = await scheduled()
    rig.dispatcher.engine.start()
    await rig.receiver.waitForDelivery({ path })
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
