import { describe, expect, it } from '@jest/globals'
import type { DeliveryId } from '@signet/webhook-core'
import { purgeRecording } from '@signet/webhook-core/stores'
import { lockWaiters } from '@signet/testkit'
import { listAttempts } from '../src/deliveries/attempt-store.js'
import { dispatchEvents } from '../src/dispatching/dispatch-store.js'
import { dispatchEvent, dispatchInRows } from './support/dispatcher.js'
import { useFirstAttempts } from './support/first-attempts.js'

/** First attempts of a process that died, or of a worker that was thought dead. */
describe('first attempts', () => {
  const rig = useFirstAttempts()
  const { run, rowOf, jobs, isOpen } = rig

  it('that a lost worker may have made before there were rows count as interrupted', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/maybe'))
    const eventId = await rig.subscriber.summary()
    await dispatchEvent(rig.dispatcher, eventId)
    await rig.dispatcher.events.run({ eventId, accountId: rig.subscriber.accountId }, { unrecorded: 'any' })
    await rig.dispatcher.firstAttempts.concluded()
    const row = await rowOf(eventId)
    expect(row).toMatchObject({ status: 0, attempts: 1, last_error: 'interrupted' })
    expect((await jobs()).map(({ id }) => id)).toEqual([`dlv_${row.id}`])
    expect(rig.receiver.deliveries({ path: '/maybe' })).toHaveLength(0)
  })

  it('that a lost process left behind end, also when their recording was deleted in the moment they were made', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/purged'))
    const audioId = 'rec_purged'
    const eventId = await rig.subscriber.summary({ audioId })
    const purge = await rig.dispatcher.db.transaction(async (tx) => {
      await dispatchEvents(tx, [{ id: eventId }], rig.dispatcher.clock.now())
      const ended = purgeRecording(rig.dispatcher.db, { accountId: rig.subscriber.accountId, audioId })
      await lockWaiters(rig.dispatcher.db, 1)
      return { ended }
    })
    await purge.ended
    expect(await rowOf(eventId)).toMatchObject({ status: 2, attempts: 0, last_error: 'recording_deleted' })
    // Puts the row back to how it stands between the purge's two statements, as if the purging process had died there.
    await rig.dispatcher.db.query(
      `update webhook_deliveries set status = 0, last_error = '' where event_id = $1`,
      [eventId],
    )
    await run(eventId)
    const left = await rowOf(eventId)
    expect((await jobs()).map(({ id }) => id)).toEqual([`dlv_${left.id}`])
    await rig.dispatcher.attempt(left)
    expect(await rowOf(eventId)).toMatchObject({ status: 2, attempts: 0, last_error: 'recording_deleted' })
    expect(rig.receiver.deliveries({ path: '/purged' })).toHaveLength(0)
    expect(await isOpen(eventId)).toBe(false)
  })

  it('that a lost process left behind go into the queue with the next run of the event', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/left'))
    const eventId = await rig.subscriber.summary()
    await dispatchInRows(rig.dispatcher, eventId)
    expect(await isOpen(eventId)).toBe(true)
    await rig.dispatcher.firstAttempts.run(eventId, await dispatchInRows(rig.dispatcher, eventId))
    await rig.dispatcher.firstAttempts.concluded()
    const row = await rowOf(eventId)
    expect(row).toMatchObject({ status: 0, attempts: 0, next_attempt_at: rig.dispatcher.clock.now() })
    expect((await jobs()).map(({ id }) => id)).toEqual([`dlv_${row.id}`])
    expect(await isOpen(eventId)).toBe(false)
    expect(rig.receiver.deliveries({ path: '/left' })).toHaveLength(0)
  })

  it('that a lost worker left behind count as interrupted, and the next attempt follows at once', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/lost'))
    const eventId = await rig.subscriber.summary()
    await dispatchInRows(rig.dispatcher, eventId)
    const again = await dispatchInRows(rig.dispatcher, eventId)
    const lost = { unrecorded: 'any' } as const
    await Promise.all([
      rig.dispatcher.firstAttempts.run(eventId, again, lost),
      rig.dispatcher.firstAttempts.run(eventId, again, lost),
    ])
    await rig.dispatcher.firstAttempts.concluded()
    const row = await rowOf(eventId)
    expect(row).toMatchObject({
      status: 0,
      attempts: 1,
      last_error: 'interrupted',
      next_attempt_at: rig.dispatcher.clock.now(),
    })
    expect(await listAttempts(rig.dispatcher.db, [row.id as DeliveryId])).toMatchObject([
      { number: 1, error: 'interrupted' },
    ])
    expect((await jobs()).map(({ id }) => id)).toEqual([`dlv_${row.id}`])
    expect(await isOpen(eventId)).toBe(false)
  })

  it('of a worker that was thought lost count once, whoever records them first', async () => {
    await rig.subscriber.endpoint(rig.receiver.url('/alive'))
    const eventId = await rig.subscriber.summary()
    const first = await dispatchInRows(rig.dispatcher, eventId)
    const again = await dispatchInRows(rig.dispatcher, eventId)
    await rig.dispatcher.firstAttempts.run(eventId, first)
    await rig.dispatcher.firstAttempts.run(eventId, again, { unrecorded: 'any' })
    await rig.dispatcher.firstAttempts.concluded()
    expect(await rowOf(eventId)).toMatchObject({ status: 1, attempts: 1, last_error: '' })
    expect(await jobs()).toEqual([])
  })
})
