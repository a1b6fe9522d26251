import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startPrivateRedis, waitFor, type PrivateRedis } from '@signet/testkit'
import { Redis } from 'ioredis'
import { RedisWatch, type RedisOutage } from '../src/queues/redis-watch.js'
import { startStepwise } from './support/stepwise.js'

let server: PrivateRedis
let redis: Redis
beforeAll(async () => {
  server = await startPrivateRedis()
  redis = new Redis(server.url)
  redis.on('error', () => undefined)
})
afterAll(async () => {
  redis.disconnect()
  await server.remove()
})

it('is noticed once by each process, and only when something was lost', async () => {
  const noticed: [string, RedisOutage][] = []
  const watches = ['one', 'other'].map(
    (name) =>
      new RedisWatch({
        connection: redis,
        key: 'signet:marker',
        now: () => new Date(),
        onRecovered: (outage) => noticed.push([name, outage]),
      }),
  )
  const check = async () => {
    for (const watch of watches) await watch.check()
  }
  await check()
  await check()
  expect(noticed).toEqual([])
  await redis.flushall()
  await check()
  await check()
  const outage = { since: undefined, wasEmptied: true }
  expect(noticed).toEqual([
    ['one', outage],
    ['other', outage],
  ])
})

it('is told from one that did not answer, whether that was given up or waited for', async () => {
  const timingOut = new Redis(server.url)
  const noticed: [string, RedisOutage][] = []
  const since = new Date(0)
  const watchOf = (name: string, connection: Redis) =>
    new RedisWatch({
      connection,
      key: 'signet:marker',
      now: () => since,
      onRecovered: (outage) => noticed.push([name, outage]),
    })
  const watches = [watchOf('waiting', redis), watchOf('timed out', timingOut)] as const
  for (const watch of watches) await watch.check()
  await redis.client('PAUSE', 1500, 'ALL')
  const waited = watches[0].check()
  timingOut.options.commandTimeout = 100
  await expect(watches[1].check()).rejects.toThrow('Command timed out')
  delete timingOut.options.commandTimeout
  expect(noticed).toEqual([])
  await waited
  await watches[1].check()
  for (const watch of watches) await watch.check()
  const outage = { since, wasEmptied: false }
  expect(noticed).toEqual([
    ['waiting', outage],
    ['timed out', outage],
  ])
  timingOut.disconnect()
})

it('counts as away while it is full, although it answers', async () => {
  const since = new Date(0)
  const noticed: RedisOutage[] = []
  const watch = new RedisWatch({
    connection: redis,
    key: 'signet:marker',
    now: () => since,
    onRecovered: (outage) => noticed.push(outage),
  })
  await watch.check()
  await redis.config('SET', 'maxmemory', '1')
  await expect(watch.check()).rejects.toThrow('OOM')
  await redis.config('SET', 'maxmemory', '0')
  await watch.check()
  expect(noticed).toEqual([{ since, wasEmptied: false }])
})

it('gets back the job of an event that was in it, with no connection lost and no sweep due', async () => {
  const dispatcher = await startStepwise({ env: { WEBHOOKS_REDIS_URL: server.url } })
  await waitFor(() => dispatcher.queues.isConnected)
  const { queues, redisWatch, clock } = dispatcher
  clock.set(new Date())
  const eventId = await dispatcher.subscriber().summary()
  clock.advance(60_000)
  await redisWatch.check()
  await redis.flushall()
  expect(await queues.events.getJobs()).toEqual([])
  await redisWatch.check()
  const job = await waitFor(() => queues.events.getJob(eventId))
  expect(job?.data.events).toMatchObject([{ eventId }])
  await dispatcher.sweeper.stop()
  await dispatcher.stop()
})

it('gets what could not be published while it did not answer right afterwards, however young', async () => {
  const dispatcher = await startStepwise({ env: { WEBHOOKS_REDIS_URL: server.url } })
  await waitFor(() => dispatcher.queues.isConnected)
  const { queues, redisWatch, clock } = dispatcher
  await redisWatch.check()
  await redis.client('PAUSE', 2500, 'ALL')
  await expect(redisWatch.check()).rejects.toThrow('Command timed out')
  const eventId = await dispatcher.subscriber().withoutQueues().summary()
  // The event stays five seconds old, so no sweep finds its usual grace period over.
  clock.set(new Date(Date.now() + 5000))
  await waitFor(() =>
    redisWatch.check().then(
      () => true,
      () => false,
    ),
  )
  const job = await waitFor(() => queues.events.getJob(eventId))
  expect(job?.data.events).toMatchObject([{ eventId }])
  await dispatcher.sweeper.stop()
  await dispatcher.stop()
})

it('gets what was accepted while it was down right afterwards, however young, when it comes back empty', async () => {
  const dispatcher = await startStepwise({ env: { WEBHOOKS_REDIS_URL: server.url } })
  await waitFor(() => dispatcher.queues.isConnected)
  const { queues, redisWatch, clock, db } = dispatcher
  const startedAt = Date.now()
  const second = (number: number) => new Date(startedAt + number * 1000)
  const acceptedAt = (eventId: string, time: Date) =>
    db.query('update webhook_events set created_at = $2 where id = $1', [eventId, time])
  clock.set(second(1))
  await redisWatch.check()
  // Attempts of this event may be in flight, although its job is gone.
  const before = await dispatcher.subscriber().summary()
  await acceptedAt(before, second(0))
  await server.kill('SIGKILL')
  await expect(redisWatch.check()).rejects.toThrow()
  const meanwhile = await dispatcher.subscriber().withoutQueues().summary()
  await acceptedAt(meanwhile, second(2))
  // Still within the usual grace period of sweeps.
  clock.set(second(6))
  server = await server.restart()
  await waitFor(() =>
    redisWatch.check().then(
      () => true,
      () => false,
    ),
  )
  expect((await waitFor(() => queues.events.getJob(meanwhile)))?.data.events).toMatchObject([
    { eventId: meanwhile },
  ])
  expect(await queues.events.getJob(before)).toBeUndefined()
  clock.set(second(11))
  expect(await waitFor(() => queues.events.getJob(before))).toBeDefined()
  await dispatcher.sweeper.stop()
  await dispatcher.stop()
})

const EMPTIED = { since: undefined, wasEmptied: true }
it.each([
  { order: 'was away, then emptied', outages: (since: Date) => [{ since, wasEmptied: false }, EMPTIED] },
  { order: 'was emptied, then away', outages: (since: Date) => [EMPTIED, { since, wasEmptied: false }] },
])(
  'gets what could not be published, and nothing that may be under way, if it $order',
  async ({ outages }) => {
    const dispatcher = await startStepwise({ env: { WEBHOOKS_REDIS_URL: server.url } })
    await waitFor(() => dispatcher.queues.isConnected)
    const { queues, sweeper, clock, db } = dispatcher
    const subscriber = dispatcher.subscriber().withoutQueues()
    const [published, unpublished] = [await subscriber.summary(), await subscriber.summary()]
    const now = clock.now().getTime()
    for (const [id, age] of [
      [published, 6000],
      [unpublished, 4000],
    ] as const)
      await db.query('update webhook_events set created_at = $2 where id = $1', [id, new Date(now - age)])
    for (const outage of outages(new Date(now - 5000))) sweeper.redisRecovered(outage)
    await waitFor(() => queues.events.getJob(unpublished))
    expect(await queues.events.getJob(published)).toBeUndefined()
    await sweeper.stop()
    await dispatcher.stop()
  },
)
