import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint, deliveryState, endpointState, later } from '@signet/webhook-testkit'
import { deleteEndpoint, purgeRecording } from '@signet/webhook-core/stores'
import { listAttempts, recordAttempts, recordFirstAttempts } from '../../src/deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../../src/deliveries/delivery-store.js'
import { findEventSnapshots } from '../../src/dispatching/first-attempt-store.js'
import { attemptsIn } from '../support/attempts.js'
import { eventStates, retry } from '../support/deliveries.js'
import { DELIVERED, firstResultsIn, onlyOne, resultOf } from '../support/first-results.js'

const database = useWebhooksDatabase()
const { setFailures } = attemptsIn(database)
const { queued, snapshotsFor, rowsOf } = firstResultsIn(database)

describe('findEventSnapshots', () => {
  it('says what to send to whom, and writes nothing', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const other = await anEndpoint(db, { accountId: endpoint.accountId })
    await anEndpoint(db, { accountId: endpoint.accountId, events: [] })
    const [id] = await queued(endpoint.accountId)
    const event = onlyOne(await findEventSnapshots(db, id ? [id] : []))
    expect(event).toMatchObject({ id, type: 'summary.completed' })
    expect(event.body.toString()).toBe('{"a":"é"}')
    expect(event.deliveries.map((snapshot) => snapshot.endpoint.id).sort()).toEqual(
      [endpoint.id, other.id].sort(),
    )
    expect(new Set(event.deliveries.map((snapshot) => snapshot.id)).size).toBe(2)
    expect(await rowsOf(endpoint.accountId)).toEqual([])
    expect(await eventStates(db, [event.id])).toEqual({ [event.id]: 'queued' })
  })

  it('leaves out what has no body, no endpoint, ended, or has a delivery already', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const [bare, dispatched, purged, begun] = await queued(accountId, 4)
    const [alone] = await queued((await anEndpoint(db, { events: [] })).accountId)
    await db.query(`update webhook_events set body = null where id = $1`, [bare])
    await db.query(`update webhook_events set state = 'dispatched', dispatched_at = now() where id = $1`, [
      dispatched,
    ])
    await db.query(`update webhook_events set state = 'purged', body = null where id = $1`, [purged])
    await db.query(
      `insert into webhook_deliveries (endpoint_id, event_id, event_type)
       select id, $1, 'summary.completed' from webhook_endpoints where account_id = $2`,
      [begun, accountId],
    )
    const ids = [bare, dispatched, purged, begun, alone].filter((id) => id !== undefined)
    expect(ids).toHaveLength(5)
    expect(await findEventSnapshots(db, ids)).toEqual([])
  })
})

describe('recordFirstAttempts', () => {
  it('writes a delivery with its result, its log, and the state of its event, in one statement', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const snapshot = onlyOne(await snapshotsFor(endpoint.accountId))
    const result = { ...resultOf(snapshot, DELIVERED), httpStatus: 204 }
    expect(await recordFirstAttempts(db, [result], [snapshot.eventId])).toEqual([
      {
        deliveryId: snapshot.id,
        status: 1,
        nextAttemptAt: null,
        lastError: '',
        attempts: 1,
        disabledEndpoint: false,
        isRepeated: false,
      },
    ])
    expect(await deliveryState(db, snapshot.id)).toEqual({
      status: 1,
      attempts: 1,
      last_error: '',
      next_attempt_at: null,
      delivered_at: later(40),
    })
    expect(await listAttempts(db, [snapshot.id])).toMatchObject([
      { number: 1, httpStatus: 204, durationMs: 40 },
    ])
    expect(await eventStates(db, [snapshot.eventId])).toEqual({ [snapshot.eventId]: 'dispatched' })
    const { rows } = await db.query('select created_at from webhook_deliveries where id = $1', [snapshot.id])
    expect(rows).toEqual([{ created_at: snapshot.createdAt }])
  })

  it('leaves an event queued of which deliveries are missing', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    await anEndpoint(db, { accountId })
    const [one, other] = (await snapshotsFor(accountId)) as [DeliverySnapshot, DeliverySnapshot]
    await recordFirstAttempts(db, [resultOf(one, DELIVERED)], [])
    expect(await eventStates(db, [one.eventId])).toEqual({ [one.eventId]: 'queued' })
    await recordFirstAttempts(db, [resultOf(other, DELIVERED)], [one.eventId])
    expect(await eventStates(db, [one.eventId])).toEqual({ [one.eventId]: 'dispatched' })
  })

  it('schedules the next attempt after a failure, and disables the endpoint at the 20th in a row', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    await setFailures(endpoint, 18)
    const [a, b, c] = (await snapshotsFor(endpoint.accountId, 3)) as [
      DeliverySnapshot,
      DeliverySnapshot,
      DeliverySnapshot,
    ]
    expect(await recordFirstAttempts(db, [resultOf(a, retry())], [a.eventId])).toMatchObject([
      { status: 0, nextAttemptAt: later(60_040), lastError: 'http_500' },
    ])
    const recorded = await recordFirstAttempts(
      db,
      [resultOf(b, retry('timeout')), resultOf(c, retry())],
      [b.eventId, c.eventId],
    )
    expect(recorded.every(({ disabledEndpoint }) => disabledEndpoint)).toBe(true)
    expect(await endpointState(db, endpoint.id)).toMatchObject({ status: 2, consecutive_failures: 21 })
    expect(await rowsOf(endpoint.accountId)).toMatchObject([
      // Rescheduled before the endpoint was disabled; the canceller will end it.
      { status: 0, last_error: 'http_500' },
      { status: 2, last_error: 'timeout' },
      { status: 2, last_error: 'http_500' },
    ])
  })

  it('ends what failed for a recording that was deleted meanwhile, and keeps what arrived', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const [failed, arrived] = (await snapshotsFor(accountId, 2, 'rec_gone')) as [
      DeliverySnapshot,
      DeliverySnapshot,
    ]
    await purgeRecording(db, { accountId, audioId: 'rec_gone' })
    const events = [failed.eventId, arrived.eventId]
    await recordFirstAttempts(db, [resultOf(failed, retry()), resultOf(arrived, DELIVERED)], events)
    expect(await deliveryState(db, failed.id)).toMatchObject({ status: 2, last_error: 'recording_deleted' })
    expect(await deliveryState(db, arrived.id)).toMatchObject({ status: 1 })
    expect(Object.values(await eventStates(db, events))).toEqual(['purged', 'purged'])
  })

  it('schedules nothing for an endpoint that was deleted meanwhile', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const snapshot = onlyOne(await snapshotsFor(endpoint.accountId))
    await deleteEndpoint(db, endpoint.accountId, endpoint.id)
    await recordFirstAttempts(db, [resultOf(snapshot, retry())], [snapshot.eventId])
    expect(await deliveryState(db, snapshot.id)).toMatchObject({ status: 2, next_attempt_at: null })
  })

  it('counts nothing twice when its answer was lost and it is repeated', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const snapshot = onlyOne(await snapshotsFor(endpoint.accountId))
    const result = resultOf(snapshot, retry())
    await recordFirstAttempts(db, [result], [snapshot.eventId])
    expect(await recordFirstAttempts(db, [result], [snapshot.eventId])).toEqual([])
    expect(await recordAttempts(db, [result])).toMatchObject([
      { status: 0, nextAttemptAt: later(60_040), lastError: 'http_500' },
    ])
    expect((await endpointState(db, endpoint.id)).consecutive_failures).toBe(1)
    expect(await listAttempts(db, [snapshot.id])).toHaveLength(1)
  })
})
