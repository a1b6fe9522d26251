import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import request from 'supertest'
import { createLimiter } from '@signet/rate-limits'
import { createApp } from '../src/app.js'
import { OPERATOR_TOKEN, startObserved, type Incident, type Observed } from './support/operator-pages.js'

const UNKNOWN_EVENT = `evt_${'0'.repeat(32)}`

describe('the pages for operators', () => {
  let observed: Observed
  let incident: Incident
  beforeAll(async () => {
    observed = await startObserved()
    incident = await observed.incident('/pages', '<script>alert(1)</script>')
  })
  afterAll(() => observed.stop())

  const get = (path: string) => request(observed.app).get(path).auth('ada', OPERATOR_TOKEN)
  const every = () => [
    '/admin',
    `/admin/search?q=${incident.eventId}`,
    `/admin/events/${incident.eventId}`,
    `/admin/events/${incident.eventId}/payload`,
    `/admin/deliveries/${incident.delivery.id}`,
    `/admin/endpoints/${incident.endpoint.id}`,
    `/admin/accounts/${incident.subscriber.accountId}`,
    '/admin/nowhere',
  ]

  it('lead from the bare address to the overview', async () => {
    await request(observed.app).get('/').expect(303).expect('location', '/admin')
    const { text } = await get('/admin').expect(200)
    expect(text).toContain('Pending deliveries')
  })

  it('find an event, a delivery by number or by the id of its job, and an account', async () => {
    const { eventId, delivery, subscriber } = incident
    for (const [query, path] of [
      [eventId, `/admin/events/${eventId}`],
      [` ${eventId.toUpperCase()} `, `/admin/events/${eventId}`],
      [`dlv_${delivery.id}`, `/admin/deliveries/${delivery.id}`],
      [subscriber.accountId, `/admin/accounts/${subscriber.accountId}`],
    ] as const)
      await get('/admin/search').query({ q: query }).expect(303).expect('location', path)
  })

  it('offer both where a number is a delivery and an endpoint, and say so where an id is neither', async () => {
    // Both tables count from 1.
    const both = await get('/admin/search?q=1').expect(200)
    expect(both.text).toContain('/admin/deliveries/1')
    expect(both.text).toContain('/admin/endpoints/1')
    for (const query of ['999999999', UNKNOWN_EVENT, randomUUID(), '%00', '', "1' or 1=1"])
      expect((await get('/admin/search').query({ q: query }).expect(200)).text).toContain('Nothing found')
    for (const path of ['/admin/accounts/%ff', '/admin/events/%00', '/admin/nothing'])
      expect((await get(path).expect(404)).text).toContain('Nothing here')
  })

  it('show of an event its deliveries, each attempt with its phases and answer, and the way on', async () => {
    const { text } = await get(`/admin/events/${incident.eventId}`).expect(200)
    expect(text).toContain(`/admin/deliveries/${incident.delivery.id}`)
    expect(text).toContain('Attempt 2: <code class="bad">http_503</code>')
    expect(text).toContain('first byte after')
    const delivery = await get(`/admin/deliveries/${incident.delivery.id}`).expect(200)
    expect(delivery.text).toContain(`ops requeue ${incident.delivery.id} --why`)
  })

  it('show of an endpoint how it does, and list it as failing', async () => {
    const { text } = await get(`/admin/endpoints/${incident.endpoint.id}`).expect(200)
    expect(text).toContain('2 consecutive failures')
    expect(text).toContain('0 delivered, 1 failed')
    expect((await get('/admin')).text).toContain(`/admin/endpoints/${incident.endpoint.id}`)
  })

  it('name who disabled deliveries and what is in the queues', async () => {
    await observed.dispatcher.db.query(
      `insert into operator_actions (operator, action, detail) values ('grace', 'pause', '{"reason":"a release"}')`,
    )
    const { text } = await get('/admin').expect(200)
    expect(text).toMatch(/Paused by grace since .* a release/s)
    await observed.dispatcher.db.query(
      `insert into operator_actions (operator, action, detail) values ('grace', 'resume', '{"reason":"done"}')`,
    )
    expect((await get('/admin')).text).not.toContain('Paused by')
  })

  it('plot what waits from one sample a minute', async () => {
    await observed.dispatcher.history.sample()
    await incident.subscriber.withoutQueues().summary()
    await observed.dispatcher.history.sample()
    const { text } = await get('/admin').expect(200)
    expect(text).toContain('aria-label="Waiting: now 1, at most 1"')
    expect(text).toContain('aria-label="Failed attempts a minute: now 0, at most 2"')
  })

  it('show neither secrets, nor queries of URLs, nor text of receivers as HTML', async () => {
    for (const path of every()) {
      const { text } = await get(path)
      expect([path, text]).not.toEqual([path, expect.stringMatching(/whsec_|of-the-customer|<script>alert/)])
    }
    expect((await get(`/admin/events/${incident.eventId}`)).text).toContain('&#60;script&#62;alert(1)')
  })

  it('log who looked at what people wrote, by the name that came with the token', async () => {
    const { text } = await get(`/admin/events/${incident.eventId}/payload`).expect(200)
    expect(text).toContain('All is well.')
    expect(observed.dispatcher.logLines).toContainEqual(
      expect.objectContaining({ msg: 'payload shown', event_id: incident.eventId, operator: 'ada' }),
    )
    await get(`/admin/events/${UNKNOWN_EVENT}/payload`).expect(404)
  })

  it('answer 404 as a page where nothing is', async () => {
    for (const path of [
      '/admin/nowhere',
      '/admin/events/1',
      `/admin/events/${UNKNOWN_EVENT}`,
      '/admin/deliveries/evt_1',
      '/admin/deliveries/99999999999999999999',
      '/admin/endpoints/999999',
      `/admin/accounts/${randomUUID()}`,
      '/admin/accounts/x',
    ]) {
      const answer = await get(path).expect(404)
      expect(answer.text).toContain('Nothing here')
    }
  })

  it('let nobody in without the token, and change nothing for anybody', async () => {
    for (const path of every()) {
      await request(observed.app).get(path).expect(401)
      await request(observed.app).get(path).auth('ada', 'wrong').expect(401)
      await request(observed.app).get(`${path}?token=${OPERATOR_TOKEN}`).expect(401)
      await request(observed.app).post(path).auth('ada', OPERATOR_TOKEN).expect(405)
    }
    const without = createApp({
      ...observed.dispatcher,
      config: { ...observed.dispatcher.config, adminToken: undefined },
    })
    await request(without).get('/admin').auth('ada', OPERATOR_TOKEN).expect(404)
  })

  describe('with a wrong token', () => {
    const guess = (app: typeof observed.app, password: string) =>
      request(app).get('/admin').auth('mallory', password)
    /** An app whose limits nobody has used yet. */
    const fresh = () =>
      createApp({ ...observed.dispatcher, operatorLimiter: createLimiter({ prefix: randomUUID() }) })
    const refusals = async (reason: string) => {
      const { text } = await request(observed.app).get('/metrics')
      const line = new RegExp(`operator_refusals_total\\{reason="${reason}"\\} (\\d+)`).exec(text)
      return Number(line?.[1] ?? 0)
    }

    it('are logged and counted, without what was typed', async () => {
      const before = await refusals('wrong')
      await guess(fresh(), 'a secret typed into the wrong place').expect(401)
      expect(await refusals('wrong')).toBe(before + 1)
      const lines = observed.dispatcher.logLines
      expect(lines).toContainEqual(
        expect.objectContaining({ msg: 'wrong operator token', level: 'warning', address: '127.0.0.1' }),
      )
      expect(JSON.stringify(lines)).not.toContain('typed into')
    })

    it('are refused before they are looked at once there were thirty, however many come at once', async () => {
      const app = fresh()
      const [wrong, limited] = [await refusals('wrong'), await refusals('limited')]
      const answers = await Promise.all(Array.from({ length: 50 }, () => guess(app, randomUUID())))
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(30)
      expect([await refusals('wrong'), await refusals('limited')]).toEqual([wrong + 30, limited + 20])
      const next = await guess(app, OPERATOR_TOKEN).expect(429)
      expect(Number(next.headers['retry-after'])).toBeGreaterThan(0)
    })

    it('count together when their addresses are of one network, as whoever has one IPv6 address has all of its /64', async () => {
      const served = fresh()
      const app = express()
        .use((req, _res, next) => {
          Object.defineProperty(req.socket, 'remoteAddress', { configurable: true, value: req.get('x-from') })
          next()
        })
        .use(served)
      const from = (address: string) => guess(app, randomUUID()).set('x-from', address)
      for (let host = 1; host <= 30; host += 1) await from(`2001:db8:0:7::${host.toString(16)}`).expect(401)
      await from('2001:db8:0:7:ffff::1').expect(429)
      await from('2001:db8:0:8::1').expect(401)
    })

    it('do not count when they are right, nor when a browser asks for the first time', async () => {
      const app = fresh()
      for (let times = 0; times < 40; times += 1) await request(app).get('/admin/icon').expect(401)
      for (let times = 0; times < 40; times += 1)
        await request(app).get('/admin/icon').auth('ada', OPERATOR_TOKEN).expect(200)
    })
  })

  it('protect every page with the headers of our pages', async () => {
    for (const path of [...every(), '/queues', '/queues/api/queues']) {
      const { headers } = await get(path)
      expect(headers).not.toHaveProperty('x-powered-by')
      if (headers['location'] !== undefined) continue
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringContaining("default-src 'none'") as unknown,
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      })
    }
  })

  it('say that PostgreSQL does not respond instead of failing', async () => {
    const broken = {
      ...observed.dispatcher,
      admin: Object.assign(Object.create(observed.dispatcher.admin) as typeof observed.dispatcher.admin, {
        overview: () => Promise.reject(new Error('connection refused')),
      }),
    }
    const answer = await request(createApp(broken)).get('/admin').auth('ada', OPERATOR_TOKEN).expect(503)
    expect(answer.text).toContain('PostgreSQL did not respond in time')
    expect(answer.text).not.toContain('connection refused')
    expect(observed.dispatcher.logLines).toContainEqual(expect.objectContaining({ msg: 'admin page' }))
  })
})
