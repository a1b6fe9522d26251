import { describe, expect, it } from '@jest/globals'
import { reply } from '@signet/testkit/receiver'
import { testRedis, waitFor } from '@signet/testkit'
import { deliveriesOf, startAnother } from './support/dispatcher.js'
import { gate } from './support/gate.js'
import { startMuteRedis } from './support/mute-redis.js'
import { useOperator } from './support/operator.js'

const operator = useOperator()

describe('pause, resume and drain', () => {
  it('keeps what is accepted meanwhile, counts nothing against anybody, and sends it after resume', async () => {
    const subscriber = operator.dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(operator.receiver.url('/paused'))
    expect(await operator.json('pause', '--why', 'maintenance')).toEqual({ paused: true, applied: true })
    for (let i = 0; i < 5; i += 1) await subscriber.summary()
    await operator.dispatcher.sweeper.sweep()
    expect(await operator.dispatcher.queues.events.getWaitingCount()).toBe(5)
    expect(operator.receiver.deliveries({ path: '/paused' })).toEqual([])
    expect((await operator.run('status')).out).toMatch(/^Paused since \S+ by ada: maintenance\n/)
    await operator.run('resume', '--why', 'done')
    await waitFor(async () => {
      const rows = await deliveriesOf(operator.dispatcher.db, subscriber.accountId)
      return rows.length === 5 && rows.every(({ status, attempts }) => status === 1 && attempts === 1)
    })
    const { rows } = await operator.dispatcher.db.query(
      'select consecutive_failures, status from webhook_endpoints where id = $1',
      [endpoint.id],
    )
    expect(rows).toEqual([{ consecutive_failures: 0, status: 1 }])
    expect((await operator.actions()).map(({ operator, action }) => [operator, action])).toEqual([
      ['ada', 'pause'],
      ['ada', 'resume'],
    ])
  })

  it('stays paused through a restart of every dispatcher, even with an emptied Redis', async () => {
    const subscriber = operator.dispatcher.subscriber()
    await subscriber.endpoint(operator.receiver.url('/restart'))
    await operator.run('pause', '--why', 'maintenance')
    await subscriber.summary()
    await operator.dispatcher.engine.stop()
    await operator.dispatcher.queues.events.obliterate({ force: true })
    await operator.dispatcher.queues.deliveries.obliterate({ force: true })
    expect(await operator.dispatcher.queues.deliveries.isPaused()).toBe(false)
    const successor = startAnother(operator.dispatcher.env, { ca: operator.receiver.authorityCert })
    try {
      await waitFor(() => operator.dispatcher.queues.deliveries.isPaused())
      await subscriber.summary()
      await successor.sweeper.sweep()
      expect(operator.receiver.deliveries({ path: '/restart' })).toEqual([])
      await operator.run('resume', '--why', 'done')
      await operator.receiver.waitForDelivery({ path: '/restart' })
    } finally {
      await successor.stop()
    }
  })

  it('is applied by the dispatchers later when Redis cannot be updated', async () => {
    const { code, out } = await operator.withoutRedis(() => operator.run('pause', '--why', 'Redis trouble'))
    expect([code, out]).toEqual([0, expect.stringContaining('the dispatchers follow')])
    expect(await operator.dispatcher.queues.deliveries.isPaused()).toBe(false)
    operator.dispatcher.sweeper.redisRecovered({ since: undefined, wasEmptied: true })
    await waitFor(() => operator.dispatcher.queues.deliveries.isPaused())
  })

  it('says that it has paused if Redis goes away before it is drained', async () => {
    const leaving = await startMuteRedis(testRedis().url, /active/)
    try {
      const drain = operator.withRedis(leaving.url, () =>
        operator.run('drain', '--why', 'deploy', '--timeout', '0'),
      )
      expect(await drain).toMatchObject({
        code: 1,
        err: expect.stringContaining('Paused, but Redis is unavailable'),
      })
    } finally {
      leaving.close()
    }
  })

  it('drains: waits for attempts in flight, and starts none', async () => {
    const subscriber = operator.dispatcher.subscriber()
    await subscriber.endpoint(operator.receiver.url('/drain'))
    const answer = gate()
    operator.receiver.hook('/drain', { otherwise: reply(200, { after: answer.opened }) })
    await subscriber.summary()
    await operator.receiver.waitForDelivery({ path: '/drain' })
    expect(await operator.run('drain', '--why', 'deploy', '--timeout', '0')).toMatchObject({
      code: 4,
      err: expect.stringContaining('1 jobs are still in flight'),
    })
    await subscriber.summary()
    const drained = operator.json('drain', '--why', 'deploy')
    answer.open()
    expect(await drained).toEqual({ paused: true, active: 0 })
    const rows = await deliveriesOf(operator.dispatcher.db, subscriber.accountId)
    expect(rows.map(({ status }) => status)).toEqual([1])
    expect(operator.receiver.deliveries({ path: '/drain' })).toHaveLength(1)
  })
})
