import { describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { disable, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()

/** An endpoint with a delivery of a new event for each status. */
async function given(...statuses: number[]) {
  const { accountId, token } = await api.anAccount()
  const { id } = await createEndpoint(api, token)
  const deliveries: { id: string; event: string }[] = []
  for (const status of statuses) {
    const { rows } = await api.db.query<{ id: string; event: string }>(
      `with event as (
         insert into webhook_events (id, account_id, type, source, body, state, dispatched_at, audio_id)
         values ('evt_' || $3, $4, 'summary.completed', 'test', '{}', 'dispatched', now(), $3) returning id)
       insert into webhook_deliveries (endpoint_id, event_id, event_type, status, last_error, delivered_at, next_attempt_at)
       select $1::bigint, id, 'summary.completed', $2::smallint, case when $2::smallint = 2 then 'timeout' else '' end,
         case when $2::smallint = 1 then now() end, case when $2::smallint = 0 then now() end from event
       returning id, event_id as event`,
      [id, status, randomUUID().replaceAll('-', ''), accountId],
    )
    deliveries.push(rows[0] ?? { id: '', event: '' })
  }
  const post = (path: string, body?: unknown) =>
    api.call('POST', `/v1/webhooks/${id}${path}`, { token, ...(body === undefined ? {} : { body }) })
  const replay = (delivery: string) => post(`/deliveries/${delivery}/replay`)
  return { accountId, token, id, deliveries, post, replay }
}

type Table = 'webhook_deliveries' | 'webhook_recoveries'

/** Makes the rows of an endpoint in `table` older by `seconds`. */
const passed = (seconds: number, table: Table, id: string) =>
  api.db.query(
    `update ${table} set created_at = created_at - make_interval(secs => $1) where endpoint_id = $2`,
    [seconds, id],
  )

const conflict = (message: string) => [409, { error: { code: 'conflict', message } }]

describe('POST …/deliveries/{delivery_id}/replay', () => {
  it.each([1, 2])(
    'makes a new delivery of the event, whose first one has status %d, and queues it',
    async (status) => {
      const { accountId, id, deliveries, replay, token } = await given(status)
      const [first] = deliveries
      const reply = await replay(first?.id ?? '')
      expect([reply.status, reply.body]).toMatchObject([
        200,
        { item: { endpoint_id: id, event_id: first?.event, status: 0, attempts: 0, last_error: '' } },
      ])
      const made = (reply.body as { item: { id: string } }).item.id
      expect(made).not.toBe(first?.id)
      const jobs = await api.service.ctx.queues.deliveries.getJobs()
      expect(jobs.map(({ data }) => data)).toContainEqual({ deliveryId: made, endpointId: id, accountId })
      const log = await api.call('GET', `/v1/webhooks/${id}/deliveries?event_id=${first?.event}`, { token })
      expect((log.body as { items: unknown[] }).items).toHaveLength(2)
    },
  )

  it('has one winner among many simultaneous callers', async () => {
    const { deliveries, replay } = await given(2)
    const replies = await Promise.all(Array.from({ length: 8 }, () => replay(deliveries[0]?.id ?? '')))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(7).fill(409)])
  })

  it('has one winner also where the receiver answers at once, and names what was made', async () => {
    const { id, deliveries, replay } = await given(2)
    const [delivery] = deliveries
    const replies = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const reply = await replay(delivery?.id ?? '')
        await api.db.query(
          `update webhook_deliveries set status = 1, delivered_at = now(), next_attempt_at = null
           where endpoint_id = $1 and status = 0`,
          [id],
        )
        return reply
      }),
    )
    const winners = replies.filter(({ status }) => status === 200)
    expect(winners).toHaveLength(1)
    const made = (winners[0]?.body as unknown as { item: { id: string } }).item.id
    const late = await replay(delivery?.id ?? '')
    expect([late.status, late.body]).toEqual(
      conflict(`The event was sent again a moment ago, in delivery ${made}: send it again after ten seconds`),
    )
    await passed(11, 'webhook_deliveries', id)
    expect((await replay(delivery?.id ?? '')).status).toBe(200)
  })

  it('names the delivery in which the event is pending', async () => {
    const { deliveries, replay } = await given(2)
    const made = (await replay(deliveries[0]?.id ?? '')).body as unknown as { item: { id: string } }
    const reply = await replay(deliveries[0]?.id ?? '')
    expect([reply.status, reply.body]).toEqual(
      conflict(`The event is already pending, in delivery ${made.item.id}`),
    )
  })

  it('is 409 for a pending delivery, a disabled endpoint and a deleted recording', async () => {
    const { accountId, id, deliveries, replay } = await given(0, 2, 2)
    const [pending, failed, deleted] = deliveries.map((delivery) => delivery.id)
    const reply = await replay(pending ?? '')
    expect([reply.status, reply.body]).toEqual(conflict('The delivery is still pending'))
    const event = deliveries[2]?.event.slice('evt_'.length)
    await api.internal('DELETE', `/internal/v1/accounts/${accountId}/recordings/${event}`)
    const gone = await replay(deleted ?? '')
    const message = 'The recording was deleted, so there is nothing left to send'
    expect([gone.status, gone.body]).toEqual(conflict(message))
    await disable(api, id)
    const disabled = await replay(failed ?? '')
    expect([disabled.status, disabled.body]).toEqual(conflict('The webhook is disabled: enable it first'))
  })

  it('is 404 for a delivery of another endpoint or account', async () => {
    const [own, other] = [await given(2), await given(2)]
    expect((await own.replay(other.deliveries[0]?.id ?? '')).status).toBe(404)
    expect((await own.replay('0')).status).toBe(404)
  })
})

describe('/v1/webhooks/{endpoint_id}/recover', () => {
  const since = '2020-01-01T00:00:00Z'
  type Item = { item: { id: string; state: string } }

  it.each([
    ['failed', 2],
    ['all', 3],
  ])('counts what matches %s', async (what, matched) => {
    const { id, post, token } = await given(2, 1, 2, 0)
    const reply = await post('/recover', { since, what })
    const { item } = reply.body as unknown as Item
    expect([reply.status, item]).toMatchObject([
      200,
      { endpoint_id: id, what, state: 'running', matched, queued: 0, delivered: 0, failed: 0 },
    ])
    const got = await api.call('GET', `/v1/webhooks/${id}/recover/${item.id}`, { token })
    expect([got.status, got.body]).toEqual([200, { item }])
  })

  it('runs once at a time, and again after it was cancelled', async () => {
    const { id, post, token } = await given(2)
    const replies = await Promise.all(Array.from({ length: 6 }, () => post('/recover', { since })))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409])
    const { item } = replies.find(({ status }) => status === 200)?.body as unknown as Item
    const message = `A recovery of this webhook, ${item.id}, is running: wait for it or cancel it`
    for (const { status, body } of replies)
      if (status === 409) expect(body).toEqual({ error: { code: 'conflict', message } })
    const cancel = () => api.call('DELETE', `/v1/webhooks/${id}/recover/${item.id}`, { token })
    const answers = await Promise.all(Array.from({ length: 4 }, cancel))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
    expect((await post('/recover', { since })).status).toBe(200)
  })

  it('is started by one of many simultaneous callers also where it is done at once', async () => {
    const { id, post } = await given(1)
    const recover = async () => {
      const reply = await post('/recover', { since, what: 'all' })
      await api.db.query(`update webhook_recoveries set state = 'done' where endpoint_id = $1`, [id])
      return reply
    }
    const replies = await Promise.all(Array.from({ length: 20 }, recover))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(19).fill(409)])
    const { item } = replies.find(({ status }) => status === 200)?.body as unknown as Item
    const message = `A recovery was started a moment ago, ${item.id}: start another after ten seconds`
    expect((await recover()).body).toEqual({ error: { code: 'conflict', message } })
    await passed(11, 'webhook_recoveries', id)
    expect((await recover()).status).toBe(200)
  })

  it.each([
    [{}, 'since is required'],
    [{ since: 'yesterday' }, 'since must be a date and time such as 2026-01-31T09:00:00Z'],
    [{ since, until: 'x' }, 'until must be a date and time such as 2026-01-31T09:00:00Z'],
    [{ since, until: since }, 'since must be earlier than until and now'],
    [{ since: '2999-01-01T00:00:00Z' }, 'since must be earlier than until and now'],
    [
      { since: '2998-01-01T00:00:00Z', until: '2999-01-01T00:00:00Z' },
      'since must be earlier than until and now',
    ],
  ])('refuses %j: %s', async (body, message) => {
    const { post } = await given()
    const reply = await post('/recover', body)
    expect([reply.status, reply.body]).toEqual([400, { error: { code: 'bad_request', message } }])
  })

  it('lists them, newest first, from page to page', async () => {
    const { id, post, token } = await given(2)
    const started: string[] = []
    for (let i = 0; i < 5; i++) {
      const { item } = (await post('/recover', { since })).body as unknown as Item
      started.unshift(item.id)
      if (i < 4) await api.call('DELETE', `/v1/webhooks/${id}/recover/${item.id}`, { token })
    }
    const list = async (query: string, of = id) => {
      const reply = await api.call('GET', `/v1/webhooks/${of}/recover${query}`, { token })
      return { status: reply.status, body: reply.body as { items: Item['item'][]; next_cursor: string } }
    }
    const { body: first } = await list('?page_size=3')
    expect(first.items[0]).toEqual({
      id: started[0],
      endpoint_id: id,
      what: 'failed',
      state: 'running',
      since: '2020-01-01T00:00:00.000Z',
      until: expect.any(String) as unknown,
      matched: 1,
      queued: 0,
      created_at: expect.any(String) as unknown,
    })
    const { body: second } = await list(`?page_size=3&cursor=${first.next_cursor}`)
    expect([...first.items, ...second.items].map((item) => item.id)).toEqual(started)
    expect(second.items.map(({ state }) => state)).toEqual(['cancelled', 'cancelled'])
    expect(second.next_cursor).toBe('')
    expect((await list(`?page_size=5`)).body.next_cursor).toBe('')
    for (const cursor of ['', 'x', '-1', '0', '9223372036854775808'])
      expect([cursor, (await list(`?cursor=${cursor}`)).status]).toEqual([cursor, 400])
    const other = await given()
    expect((await list('', other.id)).status).toBe(404)
    expect((await api.call('GET', `/v1/webhooks/${id}/recover`, { token: other.token })).status).toBe(404)
  })

  it('ends with its endpoint: every request for it gets 404', async () => {
    const { id, post, token } = await given(2)
    const { item } = (await post('/recover', { since })).body as unknown as Item
    await api.call('DELETE', `/v1/webhooks/${id}`, { token })
    const statusOf = async (method: string, path: string) =>
      (await api.call(method, `/v1/webhooks/${id}/recover${path}`, { token })).status
    expect([
      await statusOf('GET', ''),
      await statusOf('GET', `/${item.id}`),
      await statusOf('DELETE', `/${item.id}`),
    ]).toEqual([404, 404, 404])
  })

  it('is 409 for a disabled endpoint and 404 for what is not there', async () => {
    const { id, post, token } = await given(2)
    await disable(api, id)
    expect((await post('/recover', { since })).status).toBe(409)
    const other = await given(2)
    const { item } = (await other.post('/recover', { since })).body as unknown as Item
    for (const asked of [item.id, 'x', '0', '9223372036854775807'])
      for (const method of ['GET', 'DELETE'])
        expect((await api.call(method, `/v1/webhooks/${id}/recover/${asked}`, { token })).status).toBe(404)
  })
})
