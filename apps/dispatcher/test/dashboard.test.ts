import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import request from 'supertest'
import { createApp } from '../src/app.js'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'

const TOKEN = 'operator-token-of-at-least-32-bytes!'

describe('the queue dashboard', () => {
  let dispatcher: TestDispatcher
  beforeAll(async () => {
    dispatcher = await startDispatcher({ env: { DISPATCHER_ADMIN_TOKEN: TOKEN }, start: false })
  })
  afterAll(() => dispatcher.stop())

  it('shows both queues to holders of the operator token, as Basic password or as Bearer token', async () => {
    const app = createApp(dispatcher)
    const page = await request(app).get('/queues').auth('operator', TOKEN).expect(200)
    expect(page.text).toContain('<title>Signet</title>')
    const list = await request(app)
      .get('/queues/api/queues')
      .set('authorization', `Bearer ${TOKEN}`)
      .expect(200)
    expect((list.body as { queues: { name: string }[] }).queues.map(({ name }) => name)).toEqual([
      'events',
      'deliveries',
    ])
  })

  it.each([
    ['nothing', {}],
    ['a wrong password', { authorization: `Basic ${Buffer.from('operator:wrong').toString('base64')}` }],
    ['a wrong token', { authorization: 'Bearer wrong' }],
    ['another scheme', { authorization: `Digest ${TOKEN}` }],
  ])('asks for the token when given %s', async (_name, headers) => {
    for (const path of ['/queues', '/queues/api/queues', '/queues/static/js/main.js']) {
      const answer = await request(createApp(dispatcher)).get(path).set(headers).expect(401)
      expect(answer.headers['www-authenticate']).toMatch(/^Basic /)
    }
  })

  it('shows and never changes: who pauses, does it by name with the operator command', async () => {
    const app = createApp(dispatcher)
    for (const path of ['queues/events/pause', 'queues/pause', 'queues/deliveries/clean/waiting']) {
      await request(app).put(`/queues/api/${path}`).auth('operator', TOKEN).expect(405)
    }
    await request(app).delete('/queues/api/queues/events/obliterate').auth('operator', TOKEN).expect(405)
    await request(app).put('/queues/api/queues/events/pause').expect(401)
    expect(await dispatcher.queues.events.isPaused()).toBe(false)
    const list = await request(app).get('/queues/api/queues').auth('operator', TOKEN).expect(200)
    const { queues } = list.body as { queues: { readOnlyMode: boolean }[] }
    expect(queues.map(({ readOnlyMode }) => readOnlyMode)).toEqual([true, true])
  })

  it('says nothing of what it is made of, and lets nothing in from elsewhere', async () => {
    const app = createApp(dispatcher)
    for (const path of ['/queues', '/queues/queue/events', '/queues/api/queues', '/queues/nowhere.js']) {
      const { headers, text } = await request(app).get(path).auth('operator', TOKEN)
      expect(headers).not.toHaveProperty('x-powered-by')
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringMatching(/default-src 'none'.*script-src 'self';/) as unknown,
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
      })
      expect(text).not.toContain('googleapis')
    }
  })

  it.each([
    ...['%00', '%', '%25', '%25zz', '%ff', 'x'.repeat(101)].flatMap((value) => [
      [400, `/queues?activeQueue=${value}`],
      [400, `/queues?activeQueue=events&status=${value}`],
      [400, `/job-schedulers?page=${value}`],
    ]),
    ...['page', 'jobsPerPage'].flatMap((name) =>
      ['%00', '99999999999999999999', '1e400', 'Infinity', '-1', '0', 'x'].map((value) => [
        400,
        `/queues?activeQueue=events&${name}=${value}`,
      ]),
    ),
    [400, '/queues?activeQueue=events&jobsPerPage=1000000'],
    [400, '/queues?activeQueue=events&status=a&status=b'],
    ...['%00', '%25', '%ff', 'none', 'events', 'meta', 'id', 'evt_1:lock', 'evt_1', '__proto__'].flatMap(
      (id) => [
        [404, `/queues/events/${id}`],
        [404, `/queues/events/${id}/flow`],
      ],
    ),
    ...['%00', 'events', 'meta'].map((id) => [404, `/queues/events/${id}/logs`]),
    [404, '/queues/none/metrics'],
    [200, '/queues?activeQueue=events&status=waiting-children&page=1&jobsPerPage=100'],
    [200, '/queues?activeQueue=none'],
    [200, '/queues/events/metrics'],
    [200, '/queues/events/workers'],
  ] as [number, string][])('says %i to a request for %s', async (status, path) => {
    // BullMQ now has keys of this queue besides those of its jobs.
    await dispatcher.queues.events.add('events', { events: [] }, { jobId: 'evt_0' })
    await request(createApp(dispatcher)).get(`/queues/api${path}`).auth('operator', TOKEN).expect(status)
  })

  it('shows a job', async () => {
    await dispatcher.queues.events.add('events', { events: [] }, { jobId: 'evt_0' })
    for (const path of ['evt_0', 'evt_0/logs', 'evt_0/flow'])
      await request(createApp(dispatcher))
        .get(`/queues/api/queues/events/${path}`)
        .auth('operator', TOKEN)
        .expect(200)
  })

  it('is not there without a configured token', async () => {
    const app = createApp({ ...dispatcher, config: { ...dispatcher.config, adminToken: undefined } })
    await request(app).get('/queues').expect(404)
  })
})
