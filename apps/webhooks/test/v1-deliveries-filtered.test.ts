import { beforeAll, describe, expect, it } from '@jest/globals'
import { eventTypes } from '@signet/webhook-core'
import { createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()
const EVENT = `evt_${'a'.repeat(32)}`
let token = ''
let id = ''
let other = ''

async function seed(endpointId: string) {
  await api.db.query(
    `with event as (
       insert into webhook_events (id, account_id, type, source, body, state, dispatched_at)
       select case when n = 1 and $2 then $3 else 'evt_' || md5(e.id::text || n) end, e.account_id, 'summary.completed', 'test',
         '{}', 'dispatched', now()
       from webhook_endpoints e, generate_series(1, 30) n where e.id = $1
       returning id)
     insert into webhook_deliveries (endpoint_id, event_id, event_type, status, last_error, delivered_at, created_at)
     select $1, id, 'summary.completed', 1 + n % 2, case when n % 2 = 1 then 'http_500' else '' end,
       case when n % 2 = 0 then now() end, '2026-01-01T00:00:00Z'::timestamptz + interval '1 second' * n
     from (select id, row_number() over () as n from event) e`,
    [endpointId, endpointId === id, EVENT],
  )
}

beforeAll(async () => {
  token = (await api.anAccount()).token
  id = (await createEndpoint(api, token)).id
  other = (await createEndpoint(api, token)).id
  await seed(id)
  await seed(other)
})

async function ask(query: string, endpoint = id) {
  const reply = await api.call('GET', `/v1/webhooks/${endpoint}/deliveries${query}`, { token })
  const body = reply.body as { items?: { id: string; status: number }[]; next_cursor?: string }
  return { status: reply.status, body, items: body.items ?? [], cursor: body.next_cursor ?? '' }
}

describe('filters', () => {
  it.each([
    ['?status=2', 15],
    ['?status=1', 15],
    ['?status=0', 0],
    ['?event_type=summary.completed&page_size=100', 30],
    ['?event_type=webhook.ping', 0],
    [`?event_id=${EVENT}`, 1],
    ['?since=2026-01-01T00:00:30Z', 1],
    ['?since=2026-01-01T01:00:25%2B01:00', 6],
    ['?until=2026-01-01T00:00:05.000001Z', 5],
    ['?since=2026-01-01T00:00:05.000001Z&page_size=100', 25],
    ['?since=2026-01-01T00:00:05.0000000Z&page_size=100', 26],
    ['?since=2026-01-01T00:00:05.000001999Z&page_size=100', 25],
    ['?until=2026-01-01t00:00:05.000001z', 5],
    ['?since=2026-01-01T23:59:00%2B23:59&page_size=100', 30],
    ['?since=2026-01-01T00:00:05Z&until=2026-01-01T00:00:10Z&status=2', 3],
  ])('%s gives %d entries', async (query, count) => {
    const { status, items } = await ask(query)
    expect([status, items.length]).toEqual([200, count])
  })

  it.each([
    ['status=3', 'status must be one of 0, 1, 2'],
    ['status=failed', 'status must be one of 0, 1, 2'],
    ['status=1&status=2', 'status must be given once'],
    ['event_type=x', `event_type must be one of ${eventTypes.join(', ')}`],
    ['event_id=evt_1', 'event_id must be an event id: evt_ and 32 hex digits'],
    ['since=0000-01-01T00:00:00Z', 'since must be a date and time such as 2026-01-31T09:00:00Z'],
    ['since=0001-01-01T00:00:00%2B01:00', 'since must be a date and time such as 2026-01-31T09:00:00Z'],
    ['since=yesterday', 'since must be a date and time such as 2026-01-31T09:00:00Z'],
    ['since=2026-02-30T00:00:00Z', 'since must be a date and time such as 2026-01-31T09:00:00Z'],
    ['until=2026-01-01', 'until must be a date and time such as 2026-01-31T09:00:00Z'],
    ['since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00Z', 'until must be later than since'],
    ['since=2026-01-31T09:00:00+01:00', 'since has a space where a + belongs: in a URL, write + as %2B'],
    ['since=2026-01-31%2009:00:00Z', 'since must be a date and time such as 2026-01-31T09:00:00Z'],
    ['cursor=', 'cursor is empty, as next_cursor is at the end: leave it out to start again'],
    ['page_size=0', 'page_size must be between 1 and 100; a larger number, up to 999999, counts as 100'],
    [
      'page_size=1000000',
      'page_size must be between 1 and 100; a larger number, up to 999999, counts as 100',
    ],
    ['page=0', 'page must be between 1 and 999999'],
    ['status=2&page=2', 'page does not go with filters or a cursor: follow next_cursor instead'],
  ])('%s is 400: %s', async (query, message) => {
    const { status, body } = await ask(`?${query}`)
    expect([status, body]).toEqual([400, { error: { code: 'bad_request', message } }])
  })
})

describe('cursors', () => {
  it.each(['', 'status=2&', 'since=2026-01-01T00:00:02.5Z&'])(
    'lead from page to page of ?%s, each entry once, to an empty one at the end',
    async (filter) => {
      const whole = (await ask(`?${filter}page_size=100`)).items
      const seen = []
      let page = await ask(`?${filter}page_size=7`)
      for (;;) {
        seen.push(...page.items)
        if (page.cursor === '') break
        page = await ask(`?${filter}page_size=7&cursor=${page.cursor}`)
      }
      expect(seen).toEqual(whole)
    },
  )

  it('go on from a page with a number', async () => {
    const { cursor } = await ask('?page=2&page_size=10')
    expect((await ask(`?cursor=${cursor}&page_size=10`)).items).toEqual(
      (await ask('?page=3&page_size=10')).items,
    )
  })

  it('are 400 when they were changed, shortened or made up', async () => {
    const { cursor } = await ask('?page_size=5')
    const bytes = Buffer.from(cursor, 'base64url')
    const changed = Array.from(bytes, (byte, i) =>
      Buffer.from(bytes.map((other, j) => (i === j ? byte ^ 1 : other))).toString('base64url'),
    )
    const made = [
      '',
      'x',
      '0'.repeat(60),
      cursor.slice(0, -1),
      `${cursor}A`,
      `${cursor}=`,
      `${cursor}.`,
      `${cursor}&cursor=x`,
    ]
    for (const bad of [...changed, ...made]) {
      const { status } = await ask(`?page_size=5&cursor=${bad}`)
      expect([bad, status]).toEqual([bad, 400])
    }
    expect((await ask(`?page_size=5&cursor=${cursor}`)).status).toBe(200)
  })

  it('are 400 at another endpoint, with another filter, and for another account', async () => {
    const { cursor } = await ask('?status=2&page_size=5')
    const refused = {
      error: {
        code: 'bad_request',
        message: 'cursor must be a next_cursor of the same webhook and filters',
      },
    }
    expect((await ask(`?status=2&cursor=${cursor}`, other)).body).toEqual(refused)
    expect((await ask(`?status=1&cursor=${cursor}`)).body).toEqual(refused)
    expect((await ask(`?cursor=${cursor}`)).body).toEqual(refused)
    expect((await ask(`?page=1&status=2&cursor=${cursor}`)).status).toBe(400)
  })
})
