import { describe, beforeEach, expect, it } from '@jest/globals'
import { deliveryJobId } from '@signet/webhook-core/queue'
import type { EventId } from '@signet/webhook-core'
import { useIdleDispatcher } from './support/idle-dispatcher.js'

/** Someone deleted a list of a queue, or a job's id from it. Its jobs still exist, and no script of BullMQ fails. */
describe('work whose job is in none of the lists', () => {
  const rig = useIdleDispatcher()
  beforeEach(async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/deleted-keys'))
  })

  const expectOnce = (ids: readonly EventId[]) =>
    expect(
      rig.receiver
        .deliveries({ path: '/deleted-keys' })
        .map(({ event }) => event?.id)
        .filter((id) => ids.some((each) => each === id))
        .sort(),
    ).toEqual([...ids].sort())

  /** Expects the first sweep to find the job, and a later one to make it again. */
  async function expectMadeAgain(key: string, ids: readonly EventId[]): Promise<void> {
    expect(await rig.redis.exists(key)).toBe(1)
    rig.passMinute()
    rig.dispatcher.engine.start()
    await rig.untilGone(key)
    await rig.dispatcher.sweeper.sweep()
    await rig.untilDelivered(...ids)
    expectOnce(ids)
  }

  it('is a retry: its time comes, and it is made', async () => {
    const { queues } = rig.dispatcher
    const { deliveries } = queues
    const { eventId, deliveryId, endpointId } = await rig.deferredDelivery()
    await deliveries.obliterate({ force: true })
    const { accountId } = rig.subscriber
    await queues.addDeliveries([{ id: deliveryId, endpointId, accountId, delayMs: 1000 }])
    await rig.redis.del(deliveries.toKey('delayed'))
    await expectMadeAgain(deliveries.toKey(deliveryJobId(deliveryId)), [eventId])
  })

  it('is an event', async () => {
    const { events } = rig.dispatcher.queues
    const id = await rig.subscriber.summary()
    await rig.redis.lrem(events.toKey('wait'), 0, id)
    await expectMadeAgain(events.toKey(id), [id])
  })

  it('is several events of one job', async () => {
    const { events } = rig.dispatcher.queues
    const ids = await rig.subscriber.summaries(3)
    await rig.redis.del(events.toKey('wait'))
    await expectMadeAgain(events.toKey(`list_${ids[0]}`), ids)
  })
})
