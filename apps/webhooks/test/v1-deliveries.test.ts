import { beforeAll, describe, expect, it } from '@jest/globals'
import { createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'
import { statementsDuring } from './support/queries.js'

const api = useApi()
type Item = { id: string; created_at: string } & Record<string, unknown>

/** Inserts `count` deliveries of an endpoint, one per second, the newest one a second old. */
async function deliver(endpointId: string, count: number): Promise<void> {
  await api.db.query(
    `with event as (
       insert into webhook_events (id, account_id, type, source, body, state, dispatched_at)
       select 'evt_' || md5(e.id::text || ':' || n), e.account_id, 'summary.completed', 'test', '{}', 'dispatched', now()
       from webhook_endpoints e, generate_series(1, $2::integer) n where e.id = $1
       returning id)
     insert into webhook_deliveries (endpoint_id, event_id, event_type, status, attempts, delivered_at, created_at)
     select $1, id, 'summary.completed', 1, 1, now(), now() - interval '1 second' * row_number() over ()
     from event`,
    [endpointId, count],
  )
}

async function page(token: string, id: string, query = '') {
  const reply = await api.call('GET', `/v1/webhooks/${id}/deliveries${query}`, { token })
  return { ...reply, items: (reply.body as { items?: Item[] }).items ?? [] }
}

describe('GET /v1/webhooks/{endpoint_id}/deliveries', () => {
  let token = ''
  let id = ''
  beforeAll(async () => {
    token = (await api.anAccount()).token
    id = (await createEndpoint(api, token)).id
    await deliver(id, 250)
  })

  it('shows exactly the documented members, empty text for what is not there yet', async () => {
    const own = await api.anAccount()
    const endpoint = await createEndpoint(api, own.token)
    await api.db.query(
      `with event as (
         insert into webhook_events (id, account_id, type, source)
         values ('evt_' || md5('shape'), $2, 'webhook.ping', 'test') returning id)
       insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at)
       select $1, id, 'webhook.ping', now() from event`,
      [endpoint.id, own.accountId],
    )
    expect((await page(own.token, endpoint.id)).body).toEqual({
      next_cursor: '',
      items: [
        {
          id: expect.stringMatching(/^[1-9][0-9]*$/) as unknown,
          endpoint_id: endpoint.id,
          event_id: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as unknown,
          event_type: 'webhook.ping',
          status: 0,
          attempts: 0,
          last_error: '',
          delivered_at: '',
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown,
        },
      ],
    })
  })

  it('is newest first, 20 to a page, and every entry is on exactly one page', async () => {
    expect((await page(token, id)).items).toHaveLength(20)
    const seen: Item[] = []
    for (let number = 1; number <= 4; number++)
      seen.push(...(await page(token, id, `?page=${number}&page_size=70`)).items)
    expect(seen).toHaveLength(250)
    expect(new Set(seen.map((item) => item.id)).size).toBe(250)
    const times = seen.map((item) => item.created_at)
    expect(times).toEqual([...times].sort().reverse())
  })

  it.each([
    ['page_size=100', 100],
    ['page_size=101', 100],
    ['page_size=999999', 100],
    ['page_size=1', 1],
    ['page_size=007', 7],
    ['page=13', 10],
    ['page=14', 0],
    ['page=999999', 0],
    ['page=999999&page_size=100', 0],
    ['unknown=x&page[]=0', 20],
  ])('%s gives %d entries', async (query, count) => {
    const { status, items } = await page(token, id, `?${query}`)
    expect([status, items.length]).toEqual([200, count])
  })

  it.each([
    'page=0',
    'page=-1',
    'page=x',
    'page=',
    'page=1.0',
    'page=1e1',
    'page=%2B1',
    'page=1000000',
    'page=1&page=2',
    'page_size=0',
    'page_size=-5',
    'page_size=ten',
    'page_size=20&page_size=20',
  ])('%s is 400', async (query) => {
    const { status, body } = await page(token, id, `?${query}`)
    expect([status, body]).toMatchObject([400, { error: { code: 'bad_request' } }])
  })

  it('does not scan far for a page that is far from the beginning or beyond the end', async () => {
    const own = await api.anAccount()
    const { id: large } = await createEndpoint(api, own.token)
    await deliver(large, 25_000)
    const read = (query: string) => statementsDuring(api.db, () => page(own.token, large, query))
    const near = await read('?page_size=100')
    const walk = await read('?page=999999&page_size=100') // walks the index once and remembers
    for (const query of ['?page=999999&page_size=100', '?page=249&page_size=100']) {
      const far = await read(query)
      expect(far.length).toBeLessThan(near.length + 3)
      expect(walk.length).toBeGreaterThan(far.length)
    }
    const skipped = (await read('?page=249&page_size=100')).flatMap(({ values }) =>
      values.filter((value): value is number => typeof value === 'number'),
    )
    // No more than the rows between two marks.
    expect(Math.max(...skipped)).toBeLessThanOrEqual(5000)
    const { items } = await page(own.token, large, '?page=250&page_size=100')
    expect(items).toHaveLength(100)
  })
})
