import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Worker } from 'bullmq'
import { Db, isUnavailable, withAdvisoryLock } from '@signet/db'
import { connectRedis } from '@signet/redis'
import { waitFor } from '@signet/testkit'
import type { DeliveryId } from '@signet/webhook-core'
import { eventJobId } from '@signet/webhook-core/queue'
import { startTcpProxy } from '../chaos/tcp-proxy.js'
import { PauseSwitch } from '../src/operations/pause-switch.js'
import { JobPresence } from '../src/queues/job-presence.js'
import { Sweeper } from '../src/sweeping/sweeper.js'
import { gate } from './support/gate.js'
import { startStepwise, type Stepwise } from './support/stepwise.js'

const MINUTE_MS = 60_000

describe('the sweeper', () => {
  let dispatcher: Stepwise
  beforeAll(async () => {
    dispatcher = await startStepwise()
  })
  beforeEach(async () => {
    await dispatcher.db.query('delete from webhook_deliveries')
    await dispatcher.db.query('delete from webhook_events')
    await dispatcher.db.query('delete from webhook_first_attempts')
    await emptyQueues()
    dispatcher.clock.set(new Date())
  })
  afterAll(() => dispatcher.stop())

  async function emptyQueues(): Promise<void> {
    const { events, deliveries } = dispatcher.queues
    await Promise.all([events.obliterate({ force: true }), deliveries.obliterate({ force: true })])
  }

  async function eventsInJobs(): Promise<string[]> {
    const jobs = await dispatcher.queues.events.getJobs()
    return jobs.flatMap(({ data }) => data.events.map(({ eventId }) => eventId))
  }

  /** Makes an event that was never published, one whose first attempts were abandoned, and a delivery without a job. */
  async function lostWork() {
    const subscriber = dispatcher.subscriber()
    await subscriber.endpoint('https://127.0.0.1:9/')
    const [delivery] = await dispatcher.scheduled(subscriber)
    const [left] = await dispatcher.dispatched(subscriber)
    await emptyQueues()
    const event = await subscriber.withoutQueues().summary()
    return { events: [left?.event_id, event], job: `dlv_${delivery?.id}` }
  }

  it('puts back what has no job, once, and leaves what has one alone', async () => {
    const { events: lost, job } = await lostWork()
    dispatcher.clock.advance(MINUTE_MS)
    expect(await dispatcher.sweeper.sweep()).toEqual({ events: 2, deliveries: 1 })
    const { events, deliveries } = dispatcher.queues
    expect((await eventsInJobs()).sort()).toEqual(lost.sort())
    expect(await events.getJobCountByTypes('waiting', 'prioritized')).toBe(2)
    expect((await deliveries.getJobs()).map(({ id }) => id)).toEqual([job])
    expect(await dispatcher.sweeper.sweep()).toEqual({ events: 0, deliveries: 0 })
  })

  it('leaves alone what is in a job with others, wherever that job is', async () => {
    const { events } = dispatcher.queues
    const subscriber = dispatcher.subscriber()
    const ids = await subscriber.summaries(3)
    dispatcher.clock.advance(MINUTE_MS)
    const connection = connectRedis({ url: dispatcher.env['WEBHOOKS_REDIS_URL'] ?? '' }, 'worker')
    const worker = new Worker(events.name, null, { connection, prefix: dispatcher.config.queuePrefix })
    const steps = {
      waiting: () => Promise.resolve(),
      active: () => worker.getNextJob('token'),
      delayed: async () =>
        (await events.getJobs(['active']))[0]?.moveToDelayed(Date.now() + MINUTE_MS, 'token'),
    }
    for (const [state, step] of Object.entries(steps)) {
      await step()
      expect(await events.getJobCountByTypes(state as 'waiting')).toBe(1)
      expect(await dispatcher.sweeper.sweep()).toEqual({ events: 0, deliveries: 0 })
    }
    await worker.close()
    connection.disconnect()
    await emptyQueues()
    expect(await dispatcher.sweeper.sweep()).toEqual({ events: 3, deliveries: 0 })
    expect((await eventsInJobs()).sort()).toEqual([...ids].sort())
  })

  it('finds what was lost behind any number of events that are in jobs with others', async () => {
    const subscriber = dispatcher.subscriber()
    await subscriber.summaries(40)
    const lost = await subscriber.withoutQueues().summary()
    await subscriber.summaries(40)
    const before = await eventsInJobs()
    expect(before).toHaveLength(80)
    dispatcher.clock.advance(MINUTE_MS)
    const { db, queues, canceller, observer } = dispatcher
    const connection = connectRedis({ url: dispatcher.env['WEBHOOKS_REDIS_URL'] ?? '' }, 'worker')
    const presence = new JobPresence(connection, queues)
    const sweeper = new Sweeper({
      db,
      queues,
      presence,
      canceller,
      observer,
      pauseSwitch: new PauseSwitch(db, queues),
      onStray: () => undefined,
      now: dispatcher.clock.now,
      lookedForAtOnce: 7,
    })
    expect(await sweeper.sweep()).toEqual({ events: 1, deliveries: 0 })
    expect((await eventsInJobs()).sort()).toEqual([...before, lost].sort())
    connection.disconnect()
  })

  it('closes first attempts that have all ended and whose process was lost before it could say so', async () => {
    const subscriber = dispatcher.subscriber()
    await subscriber.endpoint('https://127.0.0.1:9/')
    const [row] = await dispatcher.dispatched(subscriber)
    await emptyQueues()
    await dispatcher.db.query(
      'update webhook_deliveries set status = 1, delivered_at = now() where id = $1',
      [row?.id],
    )
    dispatcher.clock.advance(MINUTE_MS)
    expect(await dispatcher.sweeper.sweep()).toEqual({ events: 0, deliveries: 0 })
    const { rows } = await dispatcher.db.query('select event_id from webhook_first_attempts')
    expect(rows).toEqual([])
  })

  it('gives what is young its time to get there by itself', async () => {
    await lostWork()
    dispatcher.clock.advance(5000)
    expect(await dispatcher.sweeper.sweep()).toEqual({ events: 0, deliveries: 0 })
  })

  it('lets a retry wait for its time', async () => {
    const { job } = await lostWork()
    await dispatcher.db.query(
      'update webhook_deliveries set attempts = 1, next_attempt_at = $1 where next_attempt_at is not null',
      [new Date(dispatcher.clock.now().getTime() + 5 * MINUTE_MS)],
    )
    dispatcher.clock.advance(5 * MINUTE_MS + 5000)
    expect(await dispatcher.sweeper.sweep()).toMatchObject({ deliveries: 0 })
    dispatcher.clock.advance(10_000)
    expect(await dispatcher.sweeper.sweep()).toMatchObject({ deliveries: 1 })
    expect((await dispatcher.queues.deliveries.getJobs()).map(({ id }) => id)).toEqual([job])
  })

  it('gives a job to a retry that is due soon, for its time', async () => {
    const { job } = await lostWork()
    await dispatcher.db.query(
      'update webhook_deliveries set attempts = 1, next_attempt_at = $1 where next_attempt_at is not null',
      [new Date(dispatcher.clock.now().getTime() + MINUTE_MS)],
    )
    expect(await dispatcher.sweeper.sweep()).toMatchObject({ deliveries: 0 })
    dispatcher.clock.advance(40_000)
    expect(await dispatcher.sweeper.sweep()).toMatchObject({ deliveries: 1 })
    expect(await dispatcher.queues.deliveries.getJob(job ?? '')).toMatchObject({ id: job, delay: 20_000 })
    expect(await dispatcher.sweeper.sweep()).toMatchObject({ deliveries: 0 })
  })

  it('starts a job now that waits far beyond the time its delivery is due, and leaves deferrals alone', async () => {
    const subscriber = dispatcher.subscriber()
    const { id: endpointId } = await subscriber.endpoint('https://127.0.0.1:9/')
    const [far] = await dispatcher.scheduled(subscriber)
    const [deferred] = await dispatcher.scheduled(subscriber)
    await emptyQueues()
    const { queues } = dispatcher
    const add = (row: typeof far, delayMs: number) =>
      queues.addDeliveries([
        { id: row?.id as unknown as DeliveryId, endpointId, accountId: subscriber.accountId, delayMs },
      ])
    // As for a delivery that was held until the end of its account's ban, which was then lifted.
    await add(far, 30 * 24 * 60 * MINUTE_MS)
    await add(deferred, 5 * MINUTE_MS)
    dispatcher.clock.advance(MINUTE_MS)
    expect(await dispatcher.sweeper.sweep()).toEqual({ events: 0, deliveries: 1 })
    expect(await queues.deliveries.getJobState(`dlv_${far?.id}`)).toBe('waiting')
    expect(await queues.deliveries.getJobState(`dlv_${deferred?.id}`)).toBe('delayed')
    expect(await dispatcher.sweeper.sweep()).toEqual({ events: 0, deliveries: 0 })
  })

  it('starts jobs that a process whose clock was ten minutes fast has delayed', async () => {
    const subscriber = dispatcher.subscriber()
    const { id: endpointId } = await subscriber.endpoint('https://127.0.0.1:9/')
    const [row] = await dispatcher.scheduled(subscriber)
    const eventId = await subscriber.withoutQueues().summary()
    await emptyQueues()
    const { queues } = dispatcher
    const { accountId } = subscriber
    const delayMs = 10 * MINUTE_MS
    await queues.addDeliveries([{ id: row?.id as unknown as DeliveryId, endpointId, accountId, delayMs }])
    await queues.splitOff({ eventId, accountId }, { delayMs, priority: 0 })
    dispatcher.clock.advance(MINUTE_MS)
    await dispatcher.sweeper.sweep()
    expect(await queues.deliveries.getJobState(`dlv_${row?.id}`)).toBe('waiting')
    expect(await queues.events.getJobState(eventJobId(eventId))).toBe('waiting')
  })

  it('starts jobs whose time has come while the clocks of all workers are ten minutes slow', async () => {
    const subscriber = dispatcher.subscriber()
    const { id: endpointId } = await subscriber.endpoint('https://127.0.0.1:9/')
    const [row] = await dispatcher.scheduled(subscriber)
    const [later] = await dispatcher.scheduled(subscriber)
    const eventId = await subscriber.withoutQueues().summary()
    await emptyQueues()
    const { queues } = dispatcher
    const { accountId } = subscriber
    const add = (delivery: typeof row, delayMs: number) =>
      queues.addDeliveries([{ id: delivery?.id as unknown as DeliveryId, endpointId, accountId, delayMs }])
    // No worker runs here, so nothing else starts these jobs.
    await add(row, MINUTE_MS)
    await add(later, 3 * MINUTE_MS)
    await queues.splitOff({ eventId, accountId }, { delayMs: MINUTE_MS, priority: 0 })
    dispatcher.clock.advance(2 * MINUTE_MS)
    expect(await dispatcher.sweeper.sweep()).toEqual({ events: 0, deliveries: 0 })
    expect(await queues.deliveries.getJobState(`dlv_${row?.id}`)).toBe('waiting')
    expect(await queues.deliveries.getJobState(`dlv_${later?.id}`)).toBe('delayed')
    expect(await queues.events.getJobState(eventJobId(eventId))).toBe('waiting')
  })

  it('goes on cancelling for a disabled endpoint where a process left off', async () => {
    const subscriber = dispatcher.subscriber()
    const { id } = await subscriber.endpoint('https://127.0.0.1:9/')
    const rows = [...(await dispatcher.scheduled(subscriber)), ...(await dispatcher.scheduled(subscriber))]
    await dispatcher.db.query('update webhook_endpoints set status = 2, disabled_at = $2 where id = $1', [
      id,
      dispatcher.clock.now(),
    ])
    dispatcher.clock.advance(MINUTE_MS)
    await dispatcher.sweeper.sweep()
    await dispatcher.canceller.finished()
    for (const row of rows)
      expect(await dispatcher.row(row.id)).toMatchObject({ status: 2, last_error: 'endpoint_disabled' })
  })

  it('is left to the one process that is already at it', async () => {
    await lostWork()
    dispatcher.clock.advance(MINUTE_MS)
    const meanwhile = await withAdvisoryLock(dispatcher.db, 'dispatcher-sweeper', () =>
      dispatcher.sweeper.sweep(),
    )
    expect(meanwhile).toBeUndefined()
    expect(await dispatcher.sweeper.sweep()).toEqual({ events: 2, deliveries: 1 })
  })

  it('takes over from one whose packets are lost', async () => {
    await lostWork()
    dispatcher.clock.advance(MINUTE_MS)
    const database = new URL(dispatcher.config.databaseUrl)
    const line = await startTcpProxy(() => Number(database.port))
    const throughLine = Object.assign(new URL(database), { hostname: '127.0.0.1', port: String(line.port) })
    const lostDb = new Db({ connectionString: throughLine.href, max: 1 })
    const sweeping = gate()
    const lost = withAdvisoryLock(
      lostDb,
      'dispatcher-sweeper',
      async (lock) => {
        line.cut()
        sweeping.open()
        await new Promise((resolve) => lock.addEventListener('abort', resolve))
      },
      { timeoutMs: 300 },
    ).catch((error: unknown) => error)
    await sweeping.opened
    const found = await waitFor(() => dispatcher.sweeper.sweep())
    expect(found).toEqual({ events: 2, deliveries: 1 })
    expect(isUnavailable(await lost)).toBe(true)
    line.close()
    await lostDb.close()
  })
})
