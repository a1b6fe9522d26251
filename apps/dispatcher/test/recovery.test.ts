import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { randomBytes } from 'node:crypto'
import { reply, startReceiver, type Receiver } from '@signet/testkit/receiver'
import {
  startPrivatePostgres,
  startPrivateRedis,
  waitFor,
  type PrivatePostgres,
  type PrivateRedis,
} from '@signet/testkit'
import { migrateWebhooks } from '@signet/webhook-testkit'
import { deliveriesOf, startAnother, type TestDispatcher } from './support/dispatcher.js'
import { gate } from './support/gate.js'
import type { Subscriber } from './support/subscriber.js'

const SECRET_KEYS = `test:${randomBytes(32).toString('base64')}`

describe('what is lost comes back', () => {
  let receiver: Receiver
  /** A cluster for this file alone, whose tests kill it. They share it, because making one takes longer than most of them. */
  let postgres: PrivatePostgres
  let redis: PrivateRedis
  let dispatcher: TestDispatcher
  let subscriber: Subscriber
  beforeAll(async () => {
    postgres = await startPrivatePostgres()
    await postgres.createDatabase('webhooks')
    await migrateWebhooks(postgres.url('webhooks'))
  })
  beforeEach(async () => {
    ;[receiver, redis] = await Promise.all([startReceiver(), startPrivateRedis()])
    dispatcher = startAnother(
      {
        NODE_ENV: 'test',
        WEBHOOKS_DATABASE_URL: postgres.url('webhooks'),
        WEBHOOKS_REDIS_URL: redis.url,
        WEBHOOKS_SECRET_KEYS: SECRET_KEYS,
        WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
        DISPATCHER_RETRY_DELAYS_SECONDS: '1,1,1,1,1',
        // Receivers answer when a test says so, which may take a while on a busy machine.
        DISPATCHER_TIMEOUT_MS: '8000',
      },
      { ca: receiver.authorityCert },
    )
    subscriber = dispatcher.subscriber()
  })
  afterEach(async () => {
    await dispatcher.stop()
    await Promise.all([receiver.close(), redis.remove()])
  })
  afterAll(() => postgres.remove())

  const allDelivered = (count: number) =>
    waitFor(
      async () => {
        const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
        return rows.length === count && rows.every(({ status }) => status === 1) && rows
      },
      { intervalMs: 100, describe: `${count} delivered rows` },
    )

  it('ends every delivery after Redis came back empty with jobs waiting, active and delayed', async () => {
    await subscriber.endpoint(receiver.url('/hook'))
    const killed = gate()
    const slow = reply(200, { after: killed.opened })
    receiver.hook('/hook', { answers: [reply(500), reply(500), slow, slow, slow] })
    for (let i = 0; i < 20; i += 1) await subscriber.summary()
    await waitFor(() => receiver.deliveries({ path: '/hook' }).length >= 5)
    await redis.kill('SIGKILL')
    killed.open()
    redis = await redis.restart()
    await allDelivered(20)
  })

  it('delivers what was committed while Redis was away', async () => {
    await subscriber.endpoint(receiver.url('/hook'))
    await redis.kill('SIGKILL')
    await subscriber.withoutQueues().summary()
    redis = await redis.restart()
    await allDelivered(1)
  })

  it('sends nothing twice because PostgreSQL was away when the answer came', async () => {
    await subscriber.endpoint(receiver.url('/hook'))
    const outage = gate()
    receiver.hook('/hook', { otherwise: reply(200, { after: outage.opened }) })
    for (let i = 0; i < 5; i += 1) await subscriber.summary()
    await waitFor(() => receiver.deliveries({ path: '/hook' }).length === 5)
    await postgres.kill('SIGKILL')
    outage.open()
    await waitFor(() => dispatcher.logLines.some(({ msg }) => msg === 'database unavailable; retrying'))
    postgres = await postgres.restart()
    await allDelivered(5)
    expect(receiver.deliveries({ path: '/hook' })).toHaveLength(5)
  })

  it('drains at a stop: what is in flight ends and is recorded, what waits stays for another dispatcher', async () => {
    await subscriber.endpoint(receiver.url('/hook'))
    const answer = gate()
    receiver.hook('/hook', { otherwise: reply(200, { after: answer.opened }) })
    await subscriber.summaries(30)
    await waitFor(() => receiver.deliveries({ path: '/hook' }).length >= 8)
    const stopped = dispatcher.stop()
    answer.open()
    await stopped
    const sent = receiver.deliveries({ path: '/hook' }).length
    receiver.hook('/hook', {})
    const successor = startAnother(dispatcher.env, { ca: receiver.authorityCert })
    dispatcher = successor
    await allDelivered(30)
    const ids = receiver.deliveries({ path: '/hook' }).map(({ headers }) => headers['x-service-delivery'])
    expect(ids).toHaveLength(30)
    expect(new Set(ids).size).toBe(30)
    expect(sent).toBeLessThan(30)
  })
})
