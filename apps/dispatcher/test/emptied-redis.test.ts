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
      new EmptiedRedisWatch({ connection: redis, key: 'signet:marker', onEmptied: () => noticed.push(name) }),
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
