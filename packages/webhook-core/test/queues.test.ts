import { Worker } from 'bullmq'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { connectRedis, type RedisSettings } from '@signet/redis'
import { testRedis, waitFor } from '@signet/testkit'
import { startRedisCluster, type RedisCluster } from '@signet/testkit/redis-cluster'
import {
  newEventId,
  parseDeliveryId,
  parseEndpointId,
  type DeliveryId,
  type EndpointId,
} from '../src/index.js'
import {
  deliveryJobId,
  eventJobId,
  queueNames,
  WebhookQueues,
  type DeliveryJob,
  type EventsJob,
} from '../src/queue/index.js'

const deliveryId = (text: string) => parseDeliveryId(text) as DeliveryId
const endpointId = parseEndpointId('42') as EndpointId

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function connect(settings: RedisSettings, prefix: string) {
  const connection = connectRedis(settings, 'request')
  connection.on('error', () => undefined)
  await waitFor(() => connection.status === 'ready', { describe: 'Redis' })
  const queues = new WebhookQueues({ connection, prefix })
  closers.push(
    () => connection.disconnect(),
    () => queues.close(),
  )
  return { connection, queues }
}

function work(settings: RedisSettings, prefix: string, name: string): unknown[] {
  const done: unknown[] = []
  const connection = connectRedis(settings, 'worker')
  const worker = new Worker(name, (job) => Promise.resolve(void done.push(job.data)), { connection, prefix })
  worker.on('error', () => undefined)
  closers.push(
    () => connection.disconnect(),
    () => worker.close(),
  )
  return done
}

describe('WebhookQueues', () => {
  const { url, prefix } = testRedis()

  it('takes a job once however often it is added, and holds ids only', async () => {
    const { queues } = await connect({ url }, prefix)
    const eventId = newEventId(new Date())
    const event = { id: eventId, accountId: 'account' }
    await queues.addEvents([event, event])
    await queues.addEvents([event])
    const due = { id: deliveryId('7'), endpointId, accountId: 'account', delayMs: 60_000 }
    await queues.addDeliveries([due, { ...due, delayMs: 0 }])
    const events = await queues.events.getJobs()
    const deliveries = await queues.deliveries.getJobs()
    expect(events.map(({ id, data }) => [id, data])).toEqual([
      [eventId, { events: [{ eventId, accountId: 'account' }] }],
    ])
    expect(deliveries.map(({ id, data }) => [id, data])).toEqual([
      ['dlv_7', { deliveryId: '7', endpointId: '42', accountId: 'account' }],
    ])
    expect(await queues.deliveries.getDelayedCount()).toBe(1)
  })

  it('puts what an account publishes beyond its allowance behind the events of others', async () => {
    const { queues } = await connect({ url }, `${prefix}fair`)
    const events = (accountId: string, count: number) =>
      Array.from({ length: count }, () => ({ id: newEventId(new Date()), accountId }))
    await queues.addEvents(events('flood', 400))
    await queues.addEvents(events('other', 1))
    const jobs = work({ url }, `${prefix}fair`, queueNames.events) as EventsJob[]
    const done = () => jobs.flatMap(({ events }) => events)
    await waitFor(() => done().length === 401)
    expect(done().findIndex(({ accountId }) => accountId === 'other')).toBeLessThan(300)
  })

  it('puts what an account has to send again beyond its allowance behind the deliveries of others', async () => {
    const { queues } = await connect({ url }, `${prefix}again-fair`)
    const due = (accountId: string, first: number, count: number) =>
      Array.from({ length: count }, (_, i) => ({ id: deliveryId(String(first + i)), endpointId, accountId }))
    await queues.addDeliveries(due('flood', 1, 400))
    await queues.addDeliveries(due('other', 1000, 1))
    const done = work({ url }, `${prefix}again-fair`, queueNames.deliveries) as DeliveryJob[]
    await waitFor(() => done.length === 401)
    expect(done.findIndex(({ accountId }) => accountId === 'other')).toBeLessThan(300)
  })

  it('takes a job again once it is done: nothing finished is kept', async () => {
    const { queues } = await connect({ url }, `${prefix}again`)
    const done = work({ url }, `${prefix}again`, queueNames.deliveries)
    const due = { id: deliveryId('8'), endpointId, accountId: 'account' }
    for (let times = 1; times <= 3; times += 1) {
      await queues.addDeliveries([due])
      await waitFor(
        async () => done.length === times && (await queues.deliveries.getJob('dlv_8')) === undefined,
      )
    }
  })

  it('makes delayed jobs due, and passes over those that are due already or gone', async () => {
    const { queues } = await connect({ url }, `${prefix}delayed`)
    const due = { endpointId, accountId: 'account', delayMs: 60_000 }
    const [waiting, delayed, gone] = ['1', '2', '3'].map(deliveryId) as [DeliveryId, DeliveryId, DeliveryId]
    await queues.addDeliveries([
      { ...due, id: waiting, delayMs: 0 },
      { ...due, id: delayed },
    ])
    expect(await queues.startDelayed('deliveries', [waiting, delayed, gone].map(deliveryJobId))).toBe(1)
    expect(await queues.deliveries.getDelayedCount()).toBe(0)
    expect(await queues.deliveries.getJobCountByTypes('waiting', 'prioritized')).toBe(2)
  })

  it('rejects instead of waiting when Redis is away', async () => {
    const connection = connectRedis({ url: 'redis://127.0.0.1:1' }, 'request')
    connection.on('error', () => undefined)
    const queues = new WebhookQueues({ connection })
    closers.push(
      () => connection.disconnect(),
      () => queues.close(),
    )
    await expect(queues.addEvents([{ id: newEventId(new Date()), accountId: 'account' }])).rejects.toThrow(
      'Redis is not connected',
    )
    await expect(queues.addEvents([])).resolves.toBeUndefined()
  })

  it('job ids hold no colon and are not all digits, which BullMQ forbids', () => {
    for (const id of [eventJobId(newEventId(new Date())), deliveryJobId(deliveryId('42'))]) {
      expect(id).toMatch(/^[a-z]+_[0-9a-f]+$/)
    }
  })
})

describe('on a Redis Cluster of three nodes', () => {
  let cluster: RedisCluster
  beforeAll(async () => {
    cluster = await startRedisCluster()
  })
  afterAll(() => cluster.stop())

  it('adds, delays and works off jobs of both queues', async () => {
    const settings = { url: 'redis://127.0.0.1', clusterNodes: cluster.nodes }
    const { queues } = await connect(settings, '{webhooks}')
    const newEvents = Array.from({ length: 20 }, () => ({ id: newEventId(new Date()), accountId: 'account' }))
    const due = Array.from({ length: 20 }, (_, i) => ({
      id: deliveryId(String(i + 1)),
      endpointId,
      accountId: 'account',
      delayMs: i % 2 ? 200 : 0,
    }))
    await queues.addEvents(newEvents)
    await queues.addDeliveries(due)
    const events = work(settings, '{webhooks}', queueNames.events) as EventsJob[]
    const deliveries = work(settings, '{webhooks}', queueNames.deliveries)
    await waitFor(() => events.length > 0 && deliveries.length === 20)
    expect(events.map((data) => data.events.map(({ eventId }) => eventId))).toEqual([
      newEvents.map(({ id }) => id),
    ])
  })
})
