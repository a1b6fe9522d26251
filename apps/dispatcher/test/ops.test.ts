import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { reply, startReceiver, waitFor, type Receiver } from '@signet/testkit'
import { replayDeliveries, type DeliveryId, type EndpointId } from '@signet/webhook-core'
import { ops } from '../src/operations/ops.js'
import { readConfig } from '../src/read-config.js'
import { deliveriesOf, startAnother, startDispatcher, type TestDispatcher } from './support/dispatcher.js'

type Outcome = { code: number; out: string; err: string }

describe('the operator command', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  beforeEach(async () => {
    dispatcher = await startDispatcher({
      env: { DISPATCHER_RETRY_DELAYS_SECONDS: '0.05' },
      ports: { ca: receiver.authorityCert },
    })
  })
  afterEach(() => dispatcher.stop())
  afterAll(() => receiver.close())

  async function run(...argv: string[]): Promise<Outcome> {
    const printed = { out: '', err: '' }
    const code = await ops(() => readConfig(dispatcher.env), {
      argv,
      env: { USER: 'ada' },
      out: (text) => (printed.out += `${text}\n`),
      err: (text) => (printed.err += `${text}\n`),
    })
    return { code, ...printed }
  }

  const json = async (...argv: string[]) => {
    const { out, err, code } = await run(...argv, '--json')
    if (code !== 0) throw new Error(err)
    return JSON.parse(out) as Record<string, unknown>
  }

  /** So many deliveries of one endpoint that ended as failures; its receiver answers well from now on. */
  async function failed(path: string, count: number, query = '') {
    const subscriber = dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(receiver.url(path) + query)
    receiver.hook(path, { answers: Array.from({ length: 2 * count }, () => reply(500)) })
    for (let i = 0; i < count; i += 1) await subscriber.summary()
    const rows = await waitFor(async () => {
      const found = await deliveriesOf(dispatcher.db, subscriber.accountId)
      return found.length === count && found.every(({ status }) => status === 2) && found
    })
    return { subscriber, endpoint, rows }
  }

  const actions = async () => {
    const { rows } = await dispatcher.db.query<{ operator: string; action: string; detail: object }>(
      `select operator, action, detail from operator_actions order by id`,
    )
    return rows
  }

  describe('requeue', () => {
    it('sends the event of one delivery again, as a new delivery of the same event, and writes down who and why', async () => {
      const { subscriber, rows } = await failed('/one', 1)
      const [old] = rows
      const { code, out } = await run('requeue', old?.id ?? '', '--why', 'receiver was down', '--by', 'grace')
      expect([code, out]).toEqual([0, expect.stringMatching(/^Made delivery \d+\.\n$/)])
      const [before, made] = await waitFor(async () => {
        const found = await deliveriesOf(dispatcher.db, subscriber.accountId)
        return found[1]?.status === 1 && found
      })
      expect(before).toEqual(old)
      expect(made?.event_id).toBe(old?.event_id)
      const sent = receiver.deliveries({ path: '/one' })
      expect(sent.at(-1)?.headers['x-service-delivery']).toBe(made?.id)
      expect(sent.at(-1)?.body).toEqual(sent[0]?.body)
      expect(await actions()).toEqual([
        {
          operator: 'grace',
          action: 'replay',
          detail: {
            reason: 'receiver was down',
            deliveries: [{ id: made?.id, endpoint_id: made?.endpoint_id, event_id: made?.event_id }],
          },
        },
      ])
    })

    it('sends all that failed for an endpoint since a time, and nothing twice when asked again', async () => {
      const { subscriber, endpoint } = await failed('/all', 3)
      const again = () => run('requeue', '--endpoint', endpoint.id, '--since', '1h', '--why', 'outage')
      expect((await run('requeue', '--endpoint', endpoint.id, '--since', '1h', '--dry-run')).out).toMatch(
        /^Would send again: 3\n/,
      )
      expect(await deliveriesOf(dispatcher.db, subscriber.accountId)).toHaveLength(3)
      expect(await actions()).toEqual([])
      expect((await again()).out).toMatch(/^Made 3 deliveries/)
      await waitFor(async () => {
        const found = await deliveriesOf(dispatcher.db, subscriber.accountId)
        return found.filter(({ status }) => status === 1).length === 3
      })
      expect(await again()).toMatchObject({ code: 3, out: '' })
      expect(await actions()).toHaveLength(1)
    })

    it('makes one new delivery when many operators ask for it at once, or one after the other', async () => {
      const { subscriber, rows } = await failed('/race', 1)
      const id = rows[0]?.id ?? ''
      const outcomes = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          index % 2 === 0
            ? run('requeue', id, '--why', 'race')
            : run('requeue', '--endpoint', rows[0]?.endpoint_id ?? '', '--since', '1h', '--why', 'race'),
        ),
      )
      expect(outcomes.map(({ code }) => code).sort()).toEqual([0, 3, 3, 3, 3, 3])
      await waitFor(async () => {
        const found = await deliveriesOf(dispatcher.db, subscriber.accountId)
        return found[1]?.status === 1
      })
      expect(await run('requeue', id, '--why', 'late')).toMatchObject({
        code: 3,
        err: expect.stringMatching(/of the same event is delivered\.\n$/),
      })
      expect(await deliveriesOf(dispatcher.db, subscriber.accountId)).toHaveLength(2)
    })

    it('says why it did nothing', async () => {
      const { rows, endpoint } = await failed('/why', 1)
      const id = rows[0]?.id ?? ''
      expect(await run('requeue', '999999', '--why', 'x')).toMatchObject({
        code: 3,
        err: 'There is no delivery 999999.\n',
      })
      await dispatcher.db.query(
        `update webhook_endpoints set status = 2, disabled_at = now() where id = $1`,
        [endpoint.id],
      )
      expect((await run('requeue', id, '--why', 'x')).err).toMatch(/because its endpoint is disabled since /)
    })

    it('commits what Redis cannot be told, for the sweeper', async () => {
      const { subscriber, rows } = await failed('/no-redis', 1)
      const { code, out } = await withoutRedis(() => run('requeue', rows[0]?.id ?? '', '--why', 'x'))
      expect([code, out]).toEqual([0, expect.stringContaining('Redis could not be told; the sweeper')])
      expect(await deliveriesOf(dispatcher.db, subscriber.accountId)).toHaveLength(2)
    })
  })

  async function withoutRedis<T>(work: () => Promise<T>): Promise<T> {
    const url = dispatcher.env['WEBHOOKS_REDIS_URL'] ?? ''
    dispatcher.env['WEBHOOKS_REDIS_URL'] = 'redis://127.0.0.1:1'
    try {
      return await work()
    } finally {
      dispatcher.env['WEBHOOKS_REDIS_URL'] = url
    }
  }

  describe('pause, resume and drain', () => {
    it('keeps what is accepted meanwhile, counts nothing against anybody, and sends it after resume', async () => {
      const subscriber = dispatcher.subscriber()
      const endpoint = await subscriber.endpoint(receiver.url('/paused'))
      expect(await json('pause', '--why', 'maintenance')).toEqual({ paused: true, applied: true })
      for (let i = 0; i < 5; i += 1) await subscriber.summary()
      await dispatcher.sweeper.sweep()
      expect(await dispatcher.queues.events.getWaitingCount()).toBe(5)
      expect(receiver.deliveries({ path: '/paused' })).toEqual([])
      expect((await run('status')).out).toMatch(/^Paused since \S+ by ada: maintenance\n/)
      await run('resume', '--why', 'done')
      await waitFor(async () => {
        const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
        return rows.length === 5 && rows.every(({ status, attempts }) => status === 1 && attempts === 1)
      })
      const { rows } = await dispatcher.db.query(
        'select consecutive_failures, status from webhook_endpoints where id = $1',
        [endpoint.id],
      )
      expect(rows).toEqual([{ consecutive_failures: 0, status: 1 }])
      expect((await actions()).map(({ operator, action }) => [operator, action])).toEqual([
        ['ada', 'pause'],
        ['ada', 'resume'],
      ])
    })

    it('stays paused through a restart of every dispatcher, even with an emptied Redis', async () => {
      const subscriber = dispatcher.subscriber()
      await subscriber.endpoint(receiver.url('/restart'))
      await run('pause', '--why', 'maintenance')
      await subscriber.summary()
      await dispatcher.engine.stop()
      await dispatcher.queues.events.obliterate({ force: true })
      await dispatcher.queues.deliveries.obliterate({ force: true })
      expect(await dispatcher.queues.deliveries.isPaused()).toBe(false)
      const successor = startAnother(dispatcher.env, { ca: receiver.authorityCert })
      try {
        await waitFor(() => dispatcher.queues.deliveries.isPaused())
        await subscriber.summary()
        await successor.sweeper.sweep()
        expect(receiver.deliveries({ path: '/restart' })).toEqual([])
        await run('resume', '--why', 'done')
        await receiver.waitForDelivery({ path: '/restart' })
      } finally {
        await successor.stop()
      }
    })

    it('is made up for by the dispatchers when Redis could not be told', async () => {
      const { code, out } = await withoutRedis(() => run('pause', '--why', 'Redis trouble'))
      expect([code, out]).toEqual([0, expect.stringContaining('the dispatchers follow')])
      expect(await dispatcher.queues.deliveries.isPaused()).toBe(false)
      dispatcher.sweeper.redisIsBack()
      await waitFor(() => dispatcher.queues.deliveries.isPaused())
    })

    it('drains: waits for attempts in flight, and starts none', async () => {
      const subscriber = dispatcher.subscriber()
      await subscriber.endpoint(receiver.url('/drain'))
      receiver.hook('/drain', { otherwise: reply(200, { delayMs: 700 }) })
      await subscriber.summary()
      await receiver.waitForDelivery({ path: '/drain' })
      expect(await run('drain', '--why', 'deploy', '--timeout', '0')).toMatchObject({
        code: 4,
        err: expect.stringContaining('1 jobs are still in flight'),
      })
      await subscriber.summary()
      expect(await json('drain', '--why', 'deploy')).toEqual({ paused: true, active: 0 })
      const rows = await deliveriesOf(dispatcher.db, subscriber.accountId)
      expect(rows.map(({ status }) => status)).toEqual([1])
      expect(receiver.deliveries({ path: '/drain' })).toHaveLength(1)
    })
  })

  describe('status and inspect', () => {
    it('shows the backlog, the queues and what operators did', async () => {
      await run('pause', '--why', 'a look')
      const status = await json('status')
      expect(status).toMatchObject({
        switch: { paused: true, operator: 'ada', reason: 'a look' },
        backlog: { pending: 0, due: 0, oldestDueAt: null },
        undispatched: { events: 0, oldestAt: null },
        busiest: [],
        disabledEndpoints: 0,
        queues: { events: { waiting: 0, active: 0, delayed: 0 } },
        actions: [{ action: 'pause', operator: 'ada', reason: 'a look' }],
      })
    })

    it('answers from the database within two seconds when Redis is away, and says so', async () => {
      const subscriber = dispatcher.subscriber()
      await subscriber.endpoint(receiver.url('/away'))
      await run('pause', '--why', 'a look')
      await subscriber.summary()
      const startedAt = performance.now()
      const { code, out } = await withoutRedis(() => run('status'))
      expect(performance.now() - startedAt).toBeLessThan(1900)
      expect([code, out]).toEqual([0, expect.stringContaining('Queues: Redis does not answer')])
      expect(out).toContain('Events not yet dispatched: 1')
    })

    it('does not take the workers of a dispatcher for dispatchers', async () => {
      expect((await run('status')).out).toMatch(
        /\nQueue deliveries: 0 waiting, 0 in flight, 0 delayed; \d+ workers\n?/,
      )
    })

    it('shows a delivery with its attempts, and neither payload nor secret nor the query of the url', async () => {
      const { endpoint, rows } = await failed('/inspect', 1, '?token=hidden-token')
      const id = rows[0]?.id ?? ''
      const { out } = await run('inspect', id)
      expect(out).toContain(`Delivery ${id}: failed, 2 attempts, last failure http_500`)
      expect(out).toMatch(/\n {2}1 {2}\S+ +\d+ ms {2}500 {2}http_500\n {2}2 {2}/)
      const facts = await json('inspect', id)
      expect(facts).toMatchObject({ id, status: 2, endpoint: { id: endpoint.id }, job: 'none' })
      for (const hidden of ['hidden-token', endpoint.secret, 'Weekly sync', 'All is well']) {
        expect(out + JSON.stringify(facts)).not.toContain(hidden)
      }
      expect(await run('inspect', '999999')).toMatchObject({ code: 3 })
    })
  })

  it('lists disabled endpoints with what failed, and enables one with a clean count, by name', async () => {
    const { endpoint, rows, subscriber } = await failed('/enable', 1)
    await dispatcher.db.query(
      `update webhook_endpoints set status = 2, consecutive_failures = 20, disabled_at = now() where id = $1`,
      [endpoint.id],
    )
    expect(await json('disabled', '--since', '10m')).toEqual([
      {
        endpointId: endpoint.id,
        accountId: subscriber.accountId,
        at: expect.any(String),
        lastError: 'http_500',
      },
    ])
    const enable = () => run('enable', '--endpoint', endpoint.id, '--why', 'our proxy was down')
    const outcomes = await Promise.all([enable(), enable()])
    expect(outcomes.map(({ code }) => code).sort()).toEqual([0, 3])
    const { rows: after } = await dispatcher.db.query(
      'select status, consecutive_failures, disabled_at from webhook_endpoints where id = $1',
      [endpoint.id],
    )
    expect(after).toEqual([{ status: 1, consecutive_failures: 0, disabled_at: null }])
    expect(await actions()).toMatchObject([
      {
        operator: 'ada',
        action: 'enable',
        detail: { endpoint_id: endpoint.id, reason: 'our proxy was down' },
      },
    ])
    expect(await run('disabled')).toMatchObject({ code: 0, out: 'None.\n' })
    expect(await run('requeue', rows[0]?.id ?? '', '--why', 'after the outage')).toMatchObject({ code: 0 })
  })

  it('seals signing secrets with a new key while deliveries go on, after which the old key is not needed', async () => {
    const subscriber = dispatcher.subscriber()
    const endpoint = await subscriber.endpoint(receiver.url('/reseal'))
    receiver.hook('/reseal', { secret: endpoint.secret })
    const oldKey = dispatcher.env['WEBHOOKS_SECRET_KEYS'] ?? ''
    const newKey = `new:${randomBytes(32).toString('base64')}`
    dispatcher.env['WEBHOOKS_SECRET_KEYS'] = newKey
    expect(await run('reseal', '--why', 'rotation')).toMatchObject({ code: 1 })
    dispatcher.env['WEBHOOKS_SECRET_KEYS'] = `${newKey},${oldKey}`
    expect(await json('reseal', '--why', 'rotation')).toEqual({ resealed: 1 })
    expect(await json('reseal', '--why', 'rotation')).toEqual({ resealed: 0 })
    await dispatcher.engine.stop()
    const successor = startAnother(
      { ...dispatcher.env, WEBHOOKS_SECRET_KEYS: newKey },
      { ca: receiver.authorityCert },
    )
    try {
      await subscriber.summary()
      expect(await receiver.waitForDelivery({ path: '/reseal' })).toMatchObject({ verified: true })
    } finally {
      await successor.stop()
    }
  })

  it('answers a failure of the database with exit code 1', async () => {
    dispatcher.env['WEBHOOKS_DATABASE_URL'] = 'postgres://nobody@127.0.0.1:1/nothing'
    expect(await run('status')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('ECONNREFUSED'),
    })
  })

  it('makes one delivery for operators whose statements saw the same tables', async () => {
    const { subscriber, rows } = await failed('/same-view', 1)
    const [row] = rows
    if (!row) throw new Error('no delivery')
    const target = { endpointId: row.endpoint_id as EndpointId, failedSince: new Date(0) }
    const request = { operator: 'ada', reason: 'race', now: new Date(), limit: 10 }
    const made = await Promise.all([
      ...Array.from({ length: 5 }, () => replayDeliveries(dispatcher.db, { ...request, ...target })),
      ...Array.from({ length: 5 }, () =>
        replayDeliveries(dispatcher.db, { ...request, deliveryId: row.id as DeliveryId }),
      ),
    ])
    expect(made.flat()).toHaveLength(1)
    expect(await deliveriesOf(dispatcher.db, subscriber.accountId)).toHaveLength(2)
  })
})
