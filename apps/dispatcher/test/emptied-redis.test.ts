import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startPrivateRedis, waitFor, type PrivateRedis } from '@signet/testkit'
import { Redis } from 'ioredis'
import { EmptiedRedisWatch } from '../src/queues/emptied-redis-watch.js'
import { startStepwise } from './support/stepwise.js'

let server: PrivateRedis
let redis: Redis
beforeAll(async () => {
  server = await startPrivateRedis()
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis.disconnect()
  await server.remove()
})

it('is noticed once by each process, and only when something was lost', async () => {
  const noticed: string[] = []
  const watches = ['one', 'other'].map(
    (name) =>
      new EmptiedRedisWatch({
        connection: redis,
        key: 'signet:marker',
        onEmptied: () => noticed.push(name),
        onReturned: () => noticed.push(`${name} returned`),
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
  expect(noticed).toEqual(['one', 'other'])
})

it('is told from one that did not answer, whether that was given up or waited for', async () => {
  const impatient = new Redis(server.url, { commandTimeout: 100 })
  const noticed: string[] = []
  const watchOf = (name: string, connection: Redis) =>
    new EmptiedRedisWatch({
      connection,
      key: 'signet:marker',
      onEmptied: () => noticed.push(`${name} emptied`),
      onReturned: () => noticed.push(`${name} returned`),
    })
  const watches = [watchOf('waiting', redis), watchOf('impatient', impatient)] as const
  for (const watch of watches) await watch.check()
  await redis.client('PAUSE', 1500, 'ALL')
  const waited = watches[0].check()
  await expect(watches[1].check()).rejects.toThrow('Command timed out')
  expect(noticed).toEqual([])
  await waited
  await watches[1].check()
  for (const watch of watches) await watch.check()
  expect(noticed).toEqual(['waiting returned', 'impatient returned'])
  impatient.disconnect()
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
  // The event stays five seconds old: no sweep finds the usual grace to be over.
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
