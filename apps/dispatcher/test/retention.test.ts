import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { withAdvisoryLock } from '@signet/db'
import { newEventId, type EventId } from '@signet/webhook-core'
import { createRegistry } from '@signet/telemetry'
import { TestClock, waitFor } from '@signet/testkit'
import { createObserver } from '../src/observers/observer.js'
import { Retention, rest } from '../src/retention/retention.js'
import { dispatchInRows, startAnother } from './support/dispatcher.js'
import { startStepwise, type Stepwise } from './support/stepwise.js'

const DAY_MS = 24 * 60 * 60 * 1000

let dispatcher: Stepwise
beforeAll(async () => {
  dispatcher = await startStepwise()
})
afterAll(() => dispatcher.stop())

function retention(clock: TestClock, pauses: number[] = []) {
  return new Retention({
    db: dispatcher.db,
    observer: createObserver(dispatcher.log, createRegistry({ runtime: false })),
    databaseNow: () => Promise.resolve(clock.now()),
    pause: (ms) => {
      pauses.push(ms)
      return Promise.resolve()
    },
  })
}

const counts = async () => {
  const { rows } = await dispatcher.db.query<Record<string, number>>(
    `select (select count(*)::integer from webhook_events) as events,
       (select count(*)::integer from webhook_deliveries) as deliveries,
       (select count(*)::integer from webhook_attempts) as attempts`,
  )
  return rows[0]
}

it('deletes events with their deliveries and attempts after 30 days, in small batches with rests between them', async () => {
  const clock = new TestClock(new Date())
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint('https://127.0.0.1:9/')
  const at = (daysAgo: number): EventId => newEventId(new Date(clock.now().getTime() - daysAgo * DAY_MS))
  const unheard = dispatcher.subscriber()
  const old: EventId[] = []
  for (let i = 0; i < 450; i += 1) old.push(await unheard.summary({ eventId: at(31) }))
  const young = at(29)
  await subscriber.summary({ eventId: young })
  await dispatchInRows(dispatcher, young)
  const [row] = await dispatcher.dispatched(subscriber)
  if (row) await dispatcher.attempt(row)

  // Events that nobody has dispatched yet stay: the API accepted them all the same.
  expect(await retention(clock).run()).toEqual({ events: 0, endpoints: 0 })
  await Promise.all(old.map((id) => dispatchInRows(dispatcher, id)))
  const pauses: number[] = []
  expect(await retention(clock, pauses).run()).toEqual({ events: 450, endpoints: 0 })
  expect(pauses).toHaveLength(2)
  expect(pauses.every((ms) => ms > 0)).toBe(true)
  clock.advance(31 * DAY_MS)
  // An event that is still being delivered stays until that has ended.
  expect(await retention(clock).run()).toMatchObject({ events: 0 })
  await dispatcher.db.query(
    `update webhook_deliveries set status = 2, last_error = 'timeout', next_attempt_at = null where event_id = $1`,
    [young],
  )
  expect(await retention(clock).run()).toMatchObject({ events: 1 })
  expect(await counts()).toMatchObject({ deliveries: 1 })
})

it('goes by the time of the database, whatever the clock of a dispatcher says', async () => {
  await dispatchInRows(dispatcher, await dispatcher.subscriber().summary())
  const fast = startAnother(dispatcher.env, { now: () => new Date(Date.now() + 31 * DAY_MS) }, false)
  expect(await fast.retention.run()).toEqual({ events: 0, endpoints: 0 })
  await fast.stop()
})

// Otherwise each batch reads past everything that earlier ones deleted, which stays in the index until the table is vacuumed.
it('looks at each event once in a run', async () => {
  const clock = new TestClock(new Date())
  const unheard = dispatcher.subscriber()
  const at = (daysAgo: number): EventId => newEventId(new Date(clock.now().getTime() - daysAgo * DAY_MS))
  const add = async (eventId: EventId) => {
    await unheard.summary({ eventId })
    await dispatchInRows(dispatcher, eventId)
  }
  for (let i = 0; i < 201; i += 1) await add(at(31))
  const { db, log } = dispatcher
  const running = new Retention({
    db,
    observer: createObserver(log, createRegistry({ runtime: false })),
    databaseNow: () => Promise.resolve(clock.now()),
    // Events that were too young or in use when the run came past are left for the next one.
    pause: () => add(at(32)),
  })
  expect(await running.run()).toMatchObject({ events: 201 })
  expect(await running.run()).toMatchObject({ events: 1 })
})

it('is left to the one process that is already at it', async () => {
  const meanwhile = await withAdvisoryLock(dispatcher.db, 'dispatcher-retention', () =>
    retention(new TestClock('2020-01-01T00:00:00Z')).run(),
  )
  expect(meanwhile).toBeUndefined()
  expect(await retention(new TestClock('2020-01-01T00:00:00Z')).run()).toEqual({ events: 0, endpoints: 0 })
})

it('stops in the middle of a rest, however long that is', async () => {
  const clock = new TestClock(new Date())
  const { db } = dispatcher
  for (let i = 0; i < 250; i += 1) {
    const eventId = newEventId(new Date(clock.now().getTime() - 40 * DAY_MS))
    await dispatcher.subscriber().summary({ eventId, sourceEventKey: `rest:${i}` })
    await db.query(
      `update webhook_events set state = 'dispatched', body = '{}', dispatched_at = now() - interval '40 days' where id = $1`,
      [eventId],
    )
  }
  let rests = 0
  const running = new Retention({
    db,
    observer: createObserver(dispatcher.log, createRegistry({ runtime: false })),
    databaseNow: () => Promise.resolve(clock.now()),
    pause: (_ms, signal) => {
      rests += 1
      return rest(DAY_MS, signal)
    },
  })
  running.start()
  await waitFor(() => rests > 0)
  await running.stop()
  expect(rests).toBe(1)
})
