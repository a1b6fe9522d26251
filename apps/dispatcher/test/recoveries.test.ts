import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint, countRows, NOW } from '@signet/webhook-testkit'
import type { Endpoint } from '@signet/webhook-core/stores'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { recordAttempts } from '../src/deliveries/attempt-store.js'
import { Recoverer } from '../src/recovering/recoverer.js'
import { aResult, openDeliveries } from './support/deliveries.js'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'

const database = useWebhooksDatabase()
const FAILED = { kind: 'over', error: 'internal_error' } as const

async function start(endpoint: Endpoint, what = 'failed', db = database.db): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `insert into webhook_recoveries (account_id, endpoint_id, what, since, until, matched, at_time, stepped_at)
     values ($1, $2, $3, '-infinity', clock_timestamp(), 0, '-infinity', '-infinity') returning id`,
    [endpoint.accountId, endpoint.id, what],
  )
  return rows[0]?.id ?? ''
}

async function stateOf(id: string, db = database.db) {
  const { rows } = await db.query<{ state: string; queued: number }>(
    'select state, queued from webhook_recoveries where id = $1',
    [id],
  )
  return rows[0]
}

let at = NOW.getTime()

/** A dispatcher's recoverer, which the test runs step by step. Time passes with every look at the clock. */
function recoverer({ onQueue = () => Promise.resolve(), outstanding = 5, rows = 7 } = {}) {
  const queued: string[] = []
  const errors: unknown[] = []
  const service = new Recoverer({
    db: database.db,
    queues: {
      addDeliveries: async (due) => {
        await onQueue()
        queued.push(...due.map(({ id }) => id))
      },
    },
    observer: { recoveryFailed: (error) => void errors.push(error) },
    databaseNow: () => Promise.resolve(new Date((at += 1000))),
    limits: { outstanding, rows },
  })
  return { service, queued, errors, tick: () => service.run() }
}

/** Ends the connection of a step once it holds its recovery and waits for events that the test has locked. */
async function endWaiting(): Promise<void> {
  const pid = await waitFor(async () => {
    const { rows } = await database.db.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows[0]?.pid
  })
  await database.db.query('select pg_terminate_backend($1)', [pid])
}

/** Marks the recovery's deliveries as sent. */
const send = (db = database.db, recovery: string) =>
  db.query(
    `update webhook_deliveries set status = 1, attempts = 1, delivered_at = now(), next_attempt_at = null
     where recovery_id = $1 and status = 0`,
    [recovery],
  )

async function failures(count: number) {
  const endpoint = await anEndpoint(database.db)
  const deliveries = await openDeliveries(database.db, endpoint, count)
  await recordAttempts(
    database.db,
    deliveries.map((delivery) => aResult(delivery, FAILED)),
  )
  return { endpoint, deliveries }
}

const eventsOf = async (recovery: string) => {
  const { rows } = await database.db.query<{ event_id: string }>(
    'select event_id from webhook_deliveries where recovery_id = $1',
    [recovery],
  )
  return rows.map(({ event_id }) => event_id).sort()
}

describe('a recovery', () => {
  it('never queues more than it says to have matched, also when deliveries end while it runs', async () => {
    const { endpoint, deliveries } = await failures(4)
    const id = await start(endpoint)
    await recoverer().tick()
    const { rows } = await database.db.query('select matched, queued from webhook_recoveries where id = $1', [
      id,
    ])
    expect(rows).toEqual([{ matched: deliveries.length, queued: deliveries.length }])
  })

  it('sends each event that failed once, never more than a few ahead of the sender, and then ends', async () => {
    const { endpoint, deliveries } = await failures(23)
    const id = await start(endpoint)
    const { tick, queued } = recoverer()
    for (let round = 0; (await stateOf(id))?.state === 'running'; round += 1) {
      expect(round).toBeLessThan(30)
      await tick()
      const waiting = await database.db.query(
        'select from webhook_deliveries where recovery_id = $1 and status = 0',
        [id],
      )
      expect(waiting.rowCount).toBeLessThanOrEqual(5)
      const before = queued.length
      await tick()
      if ((waiting.rowCount ?? 0) === 5) expect(queued.length).toBe(before)
      await send(database.db, id)
    }
    expect(await stateOf(id)).toEqual({ state: 'done', queued: 23 })
    expect(await eventsOf(id)).toEqual(deliveries.map(({ eventId }) => eventId).sort())
    expect(queued).toHaveLength(23)
  })

  it('leaves out what was delivered or is pending, unless all was asked for', async () => {
    const { endpoint, deliveries } = await failures(4)
    const [delivered] = await openDeliveries(database.db, endpoint, 1)
    if (!delivered) throw new Error('a delivery')
    await recordAttempts(database.db, [aResult(delivered, { kind: 'delivered' })])
    await openDeliveries(database.db, endpoint, 1)
    for (const [what, count] of [
      ['failed', 4],
      ['all', 5],
    ] as const) {
      const id = await start(endpoint, what)
      await recoverer({ outstanding: 100 }).tick()
      await recoverer({ outstanding: 100, rows: 100 }).tick()
      expect([what, await stateOf(id)]).toEqual([what, { state: 'done', queued: count }])
      await database.db.query('delete from webhook_deliveries where recovery_id = $1', [id])
    }
    expect(deliveries).toHaveLength(4)
  })

  it('repeats and forgets nothing when many processes step at once and steps break in the middle', async () => {
    const { endpoint, deliveries } = await failures(40)
    const id = await start(endpoint)
    let steps = 0
    const onQueue = () => ((steps += 1) % 2 ? Promise.reject(new Error('killed')) : Promise.resolve())
    for (let round = 0; (await stateOf(id))?.state === 'running'; round += 1) {
      expect(round).toBeLessThan(40)
      const processes = Array.from({ length: 4 }, () => recoverer({ onQueue }))
      await Promise.all(processes.map(({ tick }) => tick()))
      // Deliveries that nobody queued are due in the table, where the sweeper finds them.
      await send(database.db, id)
    }
    expect(await stateOf(id)).toEqual({ state: 'done', queued: 40 })
    expect(await eventsOf(id)).toEqual(deliveries.map(({ eventId }) => eventId).sort())
  })

  it('has done nothing when it is killed in the middle of a step, and goes on', async () => {
    const { db } = database
    const { endpoint, deliveries } = await failures(10)
    const id = await start(endpoint)
    const { tick } = recoverer()
    await tick()
    await send(db, id)
    const before = await stateOf(id)
    await db.transaction(async (tx) => {
      await tx.query('select from webhook_events where account_id = $1 for update', [endpoint.accountId])
      const step = tick()
      await endWaiting()
      await step
    })
    expect(await stateOf(id)).toEqual(before)
    for (let round = 0; (await stateOf(id))?.state === 'running'; round += 1) {
      expect(round).toBeLessThan(10)
      await tick()
      await send(db, id)
    }
    expect(await stateOf(id)).toEqual({ state: 'done', queued: 10 })
    expect(await eventsOf(id)).toEqual(deliveries.map(({ eventId }) => eventId).sort())
  })

  it('whose step fails lets the others have theirs, and is tried again later', async () => {
    const { db } = database
    const [stuck, other] = [await failures(1), await failures(3)]
    const stuckId = await start(stuck.endpoint)
    const otherId = await start(other.endpoint)
    const { tick, errors } = recoverer()
    await db.transaction(async (tx) => {
      await tx.query('select from webhook_events where account_id = $1 for update', [
        stuck.endpoint.accountId,
      ])
      // It comes first.
      await db.query(`update webhook_recoveries set stepped_at = '-infinity' where id = $1`, [stuckId])
      await db.query(`update webhook_recoveries set stepped_at = to_timestamp(0) where id = $1`, [otherId])
      const run = tick()
      await endWaiting()
      await run
    })
    expect(errors).toHaveLength(1)
    expect(await stateOf(stuckId)).toEqual({ state: 'running', queued: 0 })
    expect(await stateOf(otherId)).toEqual({ state: 'done', queued: 3 })
    await tick()
    expect(await stateOf(stuckId)).toEqual({ state: 'done', queued: 1 })
  })

  it('stops when its endpoint is disabled, and goes with its endpoint', async () => {
    const { endpoint } = await failures(3)
    const id = await start(endpoint)
    await database.db.query('update webhook_endpoints set status = 2, disabled_at = now() where id = $1', [
      endpoint.id,
    ])
    await recoverer().tick()
    expect(await stateOf(id)).toEqual({ state: 'stopped', queued: 0 })
    await database.db.query('delete from webhook_endpoints where id = $1', [endpoint.id])
    expect(await countRows(database.db, 'webhook_recoveries', 'id', id)).toBe(0)
  })
})

describe('a recovery in a dispatcher', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  beforeAll(async () => {
    receiver = await startReceiver()
    dispatcher = await startDispatcher({ ports: { ca: receiver.authorityCert } })
  })
  afterAll(async () => {
    await dispatcher.stop()
    await receiver.close()
  })

  it('brings events that failed to their endpoint with the same ids', async () => {
    const { db } = dispatcher
    const subscriber = dispatcher.subscriber()
    const { id, secret } = await subscriber.endpoint(receiver.url('/recovered'))
    receiver.hook('/recovered', { secret })
    const endpoint = { id, accountId: subscriber.accountId } as Endpoint
    const missed = await openDeliveries(db, endpoint, 12)
    await recordAttempts(
      db,
      missed.map((delivery) => aResult(delivery, FAILED)),
    )
    const recovery = await start(endpoint, 'failed', db)
    await waitFor(async () => (await stateOf(recovery, db))?.state === 'done')
    await waitFor(() => receiver.deliveries({ path: '/recovered' }).length === 12)
    const ids = receiver.deliveries({ path: '/recovered' }).map(({ headers }) => headers['webhook-id'])
    expect(ids.sort()).toEqual(missed.map(({ eventId }) => eventId).sort())
  })
})

it('can be continued by others after a dispatcher whose clock is a month fast', async () => {
  const month = 31 * 24 * 60 * 60 * 1000
  const fast = await startDispatcher({ ports: { now: () => new Date(Date.now() + month) }, start: false })
  const { db } = fast
  const endpoint = await anEndpoint(db)
  const missed = await openDeliveries(db, endpoint, 2)
  await recordAttempts(
    db,
    missed.map((delivery) => aResult(delivery, FAILED)),
  )
  const recovery = await start(endpoint, 'failed', db)
  await fast.recoverer.run()
  const { rows } = await db.query(
    `select queued, stepped_at <= now() as "isOver",
       (select bool_and(next_attempt_at <= now()) from webhook_deliveries where recovery_id = $1) as "isDue"
     from webhook_recoveries where id = $1`,
    [recovery],
  )
  expect(rows).toEqual([{ queued: 2, isOver: true, isDue: true }])
  await fast.stop()
})
