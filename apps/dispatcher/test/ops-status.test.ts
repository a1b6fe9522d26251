import { describe, expect, it } from '@jest/globals'
import { reply } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import { deliveriesOf } from './support/dispatcher.js'
import { gate } from './support/gate.js'
import { useOperator } from './support/operator.js'

const operator = useOperator()

describe('status and inspect', () => {
  it('shows the backlog, the queues and what operators did', async () => {
    await operator.run('pause', '--why', 'a look')
    const status = await operator.json('status')
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

  it('does not take the workers of a dispatcher for dispatchers', async () => {
    expect((await operator.run('status')).out).toMatch(
      /\nQueue deliveries: 0 jobs waiting, 0 in flight, 0 delayed; \d+ workers\n?/,
    )
  })

  it('shows a delivery with its attempts, and neither payload nor secret nor the query of the url', async () => {
    const { endpoint, rows } = await operator.failed('/inspect', 1, '?token=hidden-token')
    const id = rows[0]?.id ?? ''
    const { out } = await operator.run('inspect', id)
    expect(out).toContain(`Delivery ${id}: failed, 2 attempts, last failure http_500`)
    expect(out).toMatch(/\n {2}1 {2}\S+ +\d+ ms {2}500 {2}http_500\n {2}2 {2}/)
    const facts = await operator.json('inspect', id)
    expect(facts).toMatchObject({ id, status: 2, endpoint: { id: endpoint.id }, job: 'none' })
    for (const hidden of ['hidden-token', endpoint.secret, 'Weekly sync', 'All is well']) {
      expect(out + JSON.stringify(facts)).not.toContain(hidden)
    }
    expect(await operator.run('inspect', '999999')).toMatchObject({ code: 3 })
    await operator.dispatcher.db.query(
      `update webhook_attempts set error = 'tls_error', http_status = null, exchange = '{"tls_problem": "certificate_expired"}'
       where delivery_id = $1 and number = 1`,
      [id],
    )
    expect((await operator.run('inspect', id)).out).toMatch(
      /\n {2}1 {2}\S+ +\d+ ms {2}- {2}certificate_expired\n {2}2 {2}/,
    )
  })

  it('says why an event carries HTML that was not converted', async () => {
    const { dispatcher, receiver } = operator
    const subscriber = dispatcher.subscriber()
    await subscriber.endpoint(receiver.url('/html'))
    const content = '<div>'.repeat(1000) + 'x'
    await subscriber.summary({ summaries: [{ label: 'Summary', content, format: 'html' }] })
    const { event } = await receiver.waitForDelivery({ path: '/html' })
    expect(event?.data).toMatchObject({ summaries: [{ content, format: 'html' }] })
    const [row] = await deliveriesOf(dispatcher.db, subscriber.accountId)
    const { out } = await operator.run('inspect', row?.id ?? '')
    expect(out).toContain('with HTML that was not converted: too_deep')
    expect(await operator.json('inspect', row?.id ?? '')).toMatchObject({
      event: { unconverted: 'too_deep' },
    })
  })

  it.each([
    ['of its own', 1],
    ['with others', 3],
  ])('names the job %s of the event while a delivery is in its first attempt', async (_, count) => {
    const { dispatcher, receiver } = operator
    const subscriber = dispatcher.subscriber()
    const path = `/first-${count}`
    await subscriber.endpoint(receiver.url(path))
    const answer = gate()
    receiver.hook(path, { otherwise: reply(200, { after: answer.opened }) })
    await subscriber.summaries(count)
    await receiver.waitForDelivery({ path })
    const row = await waitFor(async () => (await deliveriesOf(dispatcher.db, subscriber.accountId))[0])
    const { out } = await operator.run('inspect', row.id)
    expect(out).toContain("first attempt, under its event's job: active")
    answer.open()
  })

  it('answers a failure of the database with exit code 1', async () => {
    operator.dispatcher.env['WEBHOOKS_DATABASE_URL'] = 'postgres://nobody@127.0.0.1:1/nothing'
    expect(await operator.run('status')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('ECONNREFUSED'),
    })
  })
})
