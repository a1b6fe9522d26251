import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { queueSummary, anAccount, anEndpoint, aSummary, deliveryState, NOW } from '@signet/webhook-testkit'
import { newEventId } from '@signet/webhook-core'
import { deleteEndpoint } from '@signet/webhook-core/stores'
import { findDeliverySnapshots } from '../../src/deliveries/delivery-store.js'
import { dispatchEvents } from '../../src/dispatching/dispatch-store.js'
import { findBodies } from '../../src/events/event-store.js'
import { deliveriesIn, eventStates } from '../support/deliveries.js'

const database = useWebhooksDatabase()

const NOTHING = { events: [], created: [], unfinished: [], unprepared: [], locked: [] }

describe('dispatchEvents', () => {
  it('sends the body that an event came with, and returns it for the cache', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const summary = aSummary({ accountId })
    await queueSummary(db, summary)
    await db.query(`update webhook_events set body = '{"a":"é"}' where id = $1`, [summary.eventId])
    const { events, created } = await dispatchEvents(
      db,
      [{ id: summary.eventId, body: 'another', unconverted: 'too_deep' }],
      NOW,
    )
    expect(created).toHaveLength(1)
    expect(events).toMatchObject([{ id: summary.eventId, type: 'summary.completed' }])
    expect(events[0]?.body?.toString()).toBe('{"a":"é"}')
    expect(await findBodies(db, [summary.eventId])).toEqual([{ id: summary.eventId, body: '{"a":"é"}' }])
    const { rows } = await db.query('select unconverted from webhook_events where id = $1', [summary.eventId])
    expect(rows).toEqual([{ unconverted: null }])
  })

  it('leaves an event without a body queued, and says what it takes to build one', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const [with_, without] = [aSummary({ accountId }), aSummary({ accountId, audioId: 'rec_7' })]
    await queueSummary(db, with_)
    await queueSummary(db, without)
    const dispatched = await dispatchEvents(
      db,
      [{ id: without.eventId }, { id: with_.eventId, body: '{}' }],
      NOW,
    )
    expect(dispatched.unprepared).toMatchObject([
      { id: without.eventId, accountId, type: 'summary.completed', audioId: 'rec_7', targetEndpointId: null },
    ])
    expect(dispatched.created.map(({ eventId }) => eventId)).toEqual([with_.eventId])
    expect(await eventStates(db, [with_.eventId, without.eventId])).toEqual({
      [with_.eventId]: 'dispatched',
      [without.eventId]: 'queued',
    })
  })

  it('makes a delivery for every active endpoint of the account that wants the type', async () => {
    const { db } = database
    const accountId = anAccount()
    const wants = await anEndpoint(db, { accountId })
    const alsoWants = await anEndpoint(db, { accountId, events: ['webhook.ping', 'summary.completed'] })
    await anEndpoint(db, { accountId, events: [] })
    await anEndpoint(db)
    const disabled = await anEndpoint(db, { accountId })
    await db.query(`update webhook_endpoints set status = 2, disabled_at = now() where id = $1`, [
      disabled.id,
    ])
    const deleted = await anEndpoint(db, { accountId })
    await deleteEndpoint(db, accountId, deleted.id)

    const summary = aSummary({ accountId })
    await queueSummary(db, summary)
    const made = await dispatchEvents(db, [{ id: summary.eventId, body: '{"a":"é"}' }], NOW)
    expect(
      deliveriesIn(made)
        .map(({ endpointId }) => endpointId)
        .sort(),
    ).toEqual([wants.id, alsoWants.id].sort())
    expect(await findBodies(db, [summary.eventId])).toEqual([{ id: summary.eventId, body: '{"a":"é"}' }])
    for (const { id } of made.created) {
      expect(await deliveryState(db, id)).toEqual({
        status: 0,
        attempts: 0,
        last_error: '',
        next_attempt_at: null,
        delivered_at: null,
      })
    }
  })

  it('answers with all that a first attempt needs', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const summary = aSummary({ accountId: endpoint.accountId })
    await queueSummary(db, summary)
    const { created } = await dispatchEvents(db, [{ id: summary.eventId, body: '{}' }], NOW)
    expect(created).toEqual(
      await findDeliverySnapshots(
        db,
        created.map(({ id }) => id),
      ),
    )
    expect(created).toMatchObject([{ endpoint: { id: endpoint.id, url: endpoint.url, status: 1 } }])
  })

  it('changes nothing the second time, and names what is left of the deliveries', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const summary = aSummary({ accountId })
    await queueSummary(db, summary)
    const first = await dispatchEvents(db, [{ id: summary.eventId, body: 'first' }], NOW)
    await anEndpoint(db, { accountId })
    const again = await dispatchEvents(db, [{ id: summary.eventId, body: 'second' }], NOW)
    expect(again).toEqual({
      ...NOTHING,
      unfinished: deliveriesIn(first).map((left) => ({ ...left, accountId, dueAt: null, isHeld: false })),
    })
    expect(await findBodies(db, [summary.eventId])).toEqual([{ id: summary.eventId, body: 'first' }])
  })

  it('freezes each body once and makes one delivery per endpoint when many processes dispatch at once', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const summaries = Array.from({ length: 10 }, () => aSummary({ accountId: endpoint.accountId }))
    for (const summary of summaries) await queueSummary(db, summary)
    const ids = summaries.map(({ eventId }) => eventId)
    const dispatch = async (process: number) => {
      for (let left = ids; left.length > 0;) {
        const bodies = left.map((id) => ({ id, body: `by ${process}` }))
        left = (await dispatchEvents(db, process % 2 ? bodies : bodies.reverse(), NOW)).locked
      }
      return (await findBodies(db, ids)).map(({ id, body }) => `${id} ${body}`).sort()
    }
    const seen = await Promise.all(Array.from({ length: 8 }, (_, process) => dispatch(process)))
    // Every process saw the same bodies, whenever it read them.
    for (const bodies of seen) expect(bodies).toEqual(seen[0])
    const { rows } = await db.query(`select id from webhook_deliveries where endpoint_id = $1`, [endpoint.id])
    expect(rows).toHaveLength(10)
  })

  it('leaves out what someone has locked, and waits for nothing', async () => {
    const { db } = database
    const accountId = anAccount()
    const [free, held, bare] = [aSummary({ accountId }), aSummary({ accountId }), aSummary({ accountId })]
    for (const summary of [free, held, bare]) await queueSummary(db, summary)
    const events = [{ id: free.eventId, body: '{}' }, { id: held.eventId, body: '{}' }, { id: bare.eventId }]
    const dispatched = await db.transaction(async (tx) => {
      const ids = [held.eventId, bare.eventId]
      await tx.query(`select from webhook_events where id = any ($1) for update`, [ids])
      return dispatchEvents(db, events, NOW)
    })
    expect(dispatched).toMatchObject({
      events: [{ id: free.eventId }],
      locked: [held.eventId],
      // Nothing is written for an event that has no body yet, so its lock does not matter.
      unprepared: [{ id: bare.eventId }],
    })
    expect(await dispatchEvents(db, events.slice(0, 2), NOW)).toMatchObject({
      events: [{ id: held.eventId }],
      locked: [],
    })
  })

  it('makes no second delivery for an event that an operator queued again', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const summary = aSummary({ accountId: endpoint.accountId })
    await queueSummary(db, summary)
    const first = await dispatchEvents(db, [{ id: summary.eventId, body: 'a' }], NOW)
    await db.query(`update webhook_events set state = 'queued', body = null where id = $1`, [summary.eventId])
    const again = await dispatchEvents(db, [{ id: summary.eventId, body: 'b' }], NOW)
    expect(again.created).toEqual([])
    expect(await findBodies(db, [summary.eventId])).toEqual([{ id: summary.eventId, body: 'b' }])
    expect(deliveriesIn(first)).toHaveLength(1)
    const { rows } = await db.query(`select id from webhook_deliveries where event_id = $1`, [
      summary.eventId,
    ])
    expect(rows).toHaveLength(1)
  })

  it('gives an event that no endpoint subscribed to a body and no delivery', async () => {
    const { db } = database
    const summary = aSummary({ accountId: anAccount() })
    await queueSummary(db, summary)
    expect(await dispatchEvents(db, [{ id: summary.eventId, body: '{}' }], NOW)).toMatchObject({
      created: [],
      unfinished: [],
    })
    expect(await eventStates(db, [summary.eventId])).toEqual({ [summary.eventId]: 'dispatched' })
    expect(await findBodies(db, [summary.eventId])).toEqual([{ id: summary.eventId, body: '{}' }])
  })

  it('ignores ids it does not know', async () => {
    expect(await dispatchEvents(database.db, [{ id: newEventId(NOW), body: '{}' }], NOW)).toEqual(NOTHING)
    expect(await dispatchEvents(database.db, [{ id: newEventId(NOW) }], NOW)).toEqual(NOTHING)
    expect(await dispatchEvents(database.db, [], NOW)).toEqual(NOTHING)
  })
})
