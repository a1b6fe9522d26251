import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import request from 'supertest'
import { createApp } from '../src/app.js'
import { deliveriesOf, startDispatcher, type TestDispatcher } from './support/dispatcher.js'

let receiver: Receiver
let dispatcher: TestDispatcher
beforeAll(async () => {
  receiver = await startReceiver()
})
beforeEach(async () => {
  dispatcher = await startDispatcher({
    env: { DISPATCHER_RETRY_DELAYS_SECONDS: '1,1,1' },
    ports: { ca: receiver.authorityCert },
  })
})
afterEach(() => dispatcher.stop())
afterAll(() => receiver.close())

it('counts and logs a job that fails on our side, and runs it again until it succeeds', async () => {
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint(receiver.url('/failing'))
  // As if the dispatcher had been deployed before the migration that it needs.
  await dispatcher.db.query('alter table webhook_deliveries rename column event_type to event_kind')
  const eventId = await subscriber.summary()
  const name = 'UnrecordedAttempt'
  // On a busy machine a run may fail before it sends anything.
  const failure = await waitFor(() =>
    dispatcher.logLines.find(
      ({ msg, error }) =>
        msg === 'job failed on our side; retrying' && (error as { name: string }).name === name,
    ),
  )
  const error = { name, cause: { error_code: '42703' } }
  expect(failure).toMatchObject({ queue: 'events', job_id: eventId, error })
  const { text } = await request(createApp(dispatcher)).get('/metrics')
  expect(text).toMatch(/signet_delivery_job_failures_total\{queue="events"\} [1-9]/)
  await dispatcher.db.query('alter table webhook_deliveries rename column event_kind to event_type')
  expect((await receiver.waitForDelivery({ path: '/failing' })).event?.id).toBe(eventId)
})

it.each([1, 3])('counts no attempt of %i events whose job fails before anything is sent', async (count) => {
  const { db, logLines } = dispatcher
  const path = `/unsent-${count}`
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint(receiver.url(path))
  await db.query('alter table webhook_deliveries rename column event_id to source_id')
  const ids = await subscriber.summaries(count)
  // Each event fails twice, because by the second time every event has a job to itself.
  await waitFor(() =>
    ids.every(
      (id) =>
        logLines.filter(({ msg, job_id }) => /^job failed/.test(String(msg)) && job_id === id).length > 1,
    ),
  )
  await db.query('alter table webhook_deliveries rename column source_id to event_id')
  const rows = await waitFor(async () => {
    const found = await deliveriesOf(db, subscriber.accountId)
    return found.length === count && found.every(({ status }) => status === 1) && found
  })
  expect(rows.map(({ attempts, last_error }) => [attempts, last_error])).toEqual(ids.map(() => [1, '']))
  expect(receiver.deliveries({ path })).toHaveLength(count)
})

/** Makes every insert of a delivery to the endpoint fail until the returned function is called. */
async function refuseRowsOf(endpointId: string): Promise<() => Promise<unknown>> {
  const { db } = dispatcher
  await db.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  )
  await db.query(
    `create trigger refused before insert on webhook_deliveries
     for each row when (new.endpoint_id = ${endpointId}) execute function refuse()`,
  )
  return () => db.query('drop trigger refused on webhook_deliveries')
}

it('counts no attempt of a delivery that found no permit, when its row cannot be written', async () => {
  const { db, limiter, logLines } = dispatcher
  const path = '/busy'
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint(receiver.url('/free'))
  const { id: endpointId } = await subscriber.endpoint(receiver.url(path))
  const { accountId } = subscriber
  const permits = await Promise.all(
    Array.from({ length: 8 }, async () => limiter.acquire({ endpointId, accountId })),
  )
  // As if someone held a lock on the endpoint for longer than a statement may take.
  const allow = await refuseRowsOf(endpointId)
  const unsent = await subscriber.summary()
  await waitFor(() =>
    logLines.some(({ msg, job_id }) => /^job failed/.test(String(msg)) && job_id === unsent),
  )
  await allow()
  for (const acquired of permits) if ('permit' in acquired) acquired.permit.release()
  const rows = await waitFor(async () => {
    const found = await deliveriesOf(db, accountId)
    return found.length === 2 && found.every(({ status }) => status === 1) && found
  })
  expect(rows.map(({ attempts, last_error }) => [attempts, last_error])).toEqual([
    [1, ''],
    [1, ''],
  ])
  expect(receiver.deliveries({ path: '/free' })).toHaveLength(1)
})

it.each([1, 3])(
  'counts no attempt of deliveries that were not sent, when a result of the same event is refused: %i events',
  async (count) => {
    const { db, limiter, logLines } = dispatcher
    const [sent, busy] = [`/sent-${count}`, `/busy-${count}`]
    const subscriber = dispatcher.subscriber()
    const { id: sentId } = await subscriber.endpoint(receiver.url(sent))
    const { id: endpointId } = await subscriber.endpoint(receiver.url(busy))
    const { accountId } = subscriber
    const permits = await Promise.all(
      Array.from({ length: 8 }, async () => limiter.acquire({ endpointId, accountId })),
    )
    const allow = await refuseRowsOf(sentId)
    const ids = await subscriber.summaries(count)
    await waitFor(() =>
      ids.every((id) => logLines.some(({ msg, job_id }) => /^job failed/.test(String(msg)) && job_id === id)),
    )
    await allow()
    for (const acquired of permits) if ('permit' in acquired) acquired.permit.release()
    const rows = await waitFor(async () => {
      const found = await deliveriesOf(db, accountId)
      return found.length === 2 * count && found.every(({ status }) => status === 1) && found
    })
    const attemptsOf = (id: string) =>
      rows.filter(({ endpoint_id }) => endpoint_id === id).map(({ attempts }) => attempts)
    expect(attemptsOf(sentId)).toEqual(ids.map(() => 2))
    expect(attemptsOf(endpointId)).toEqual(ids.map(() => 1))
    expect(receiver.deliveries({ path: sent })).toHaveLength(2 * count)
    expect(receiver.deliveries({ path: busy })).toHaveLength(count)
  },
)

it('delivers an event with another id when the one it drew was issued twice, as after a failover', async () => {
  const { db } = dispatcher
  const before = dispatcher.subscriber()
  await before.endpoint(receiver.url('/before'))
  const earlier = await before.summary()
  await receiver.waitForDelivery({ path: '/before' })
  const rows = await waitFor(async () => {
    const found = await deliveriesOf(db, before.accountId)
    return found.some(({ status }) => status === 1) && found
  })
  await db.query(`select setval('webhook_deliveries_id_seq', $1, false)`, [rows[0]?.id])
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint(receiver.url('/after'))
  const eventId = await subscriber.summary()
  await waitFor(async () => (await deliveriesOf(db, subscriber.accountId))[0]?.status === 1)
  expect(await deliveriesOf(db, subscriber.accountId)).toMatchObject([{ event_id: eventId, attempts: 2 }])
  expect(await deliveriesOf(db, before.accountId)).toEqual(rows)
  expect(rows).toMatchObject([{ event_id: earlier, attempts: 1 }])
})

it('counts an attempt whose result PostgreSQL refuses, and does not repeat it forever', async () => {
  const { db } = dispatcher
  await db.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
  )
  await db.query(
    `create trigger refused before insert on webhook_attempts
     for each row when (new.number = 2 and new.error = '') execute function refuse()`,
  )
  const path = '/refused'
  const subscriber = dispatcher.subscriber()
  await subscriber.endpoint(receiver.url(path))
  receiver.hook(path, { answers: [reply(500)], otherwise: reply(200) })
  await subscriber.summary()
  await waitFor(async () => (await deliveriesOf(db, subscriber.accountId))[0]?.status === 1)
  expect(await deliveriesOf(db, subscriber.accountId)).toMatchObject([{ attempts: 3 }])
  expect(receiver.deliveries({ path })).toHaveLength(3)
})
