import { describe, expect, it } from '@jest/globals'
import { endpointSecretContext, type SecretBox } from '@signet/webhook-core'
import { disable, listOf, subscribe, type SubscriptionBody } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()

const HOOK = 'https://example.com/hook'
const error = (code: string, message: unknown = expect.any(String)) => ({ error: { code, message } })
const anyString = expect.any(String) as unknown
const matching = (pattern: RegExp) => expect.stringMatching(pattern) as unknown
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('POST /v1/webhooks', () => {
  it('answers 200 with the secret and exactly the documented members, the url as it was sent', async () => {
    const { token } = await api.anAccount()
    const reply = await api.call('POST', '/v1/webhooks', {
      token,
      body: { url: 'https://Example.com:443/Hook?a=b', events: ['summary.completed'], unknown: 1 },
    })
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        endpoint_id: matching(/^[1-9][0-9]*$/),
        secret: matching(/^whsec_[A-Za-z0-9_-]{43}$/),
        url: 'https://Example.com:443/Hook?a=b',
        events: ['summary.completed'],
        status: 1,
      },
    ])
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect(reply.headers.get('x-request-id')).toBeTruthy()
  })

  it('stores the secret sealed, for this endpoint only', async () => {
    const { accountId, token } = await api.anAccount()
    const { id, secret } = await subscribe(api, token)
    const { rows } = await api.db.query<{ secret_ciphertext: Buffer; secret_key_id: string }>(
      'select secret_ciphertext, secret_key_id from webhook_endpoints where id = $1',
      [id],
    )
    const [row] = rows
    expect(row?.secret_ciphertext.includes(secret)).toBe(false)
    const box: SecretBox = api.service.ctx.config.secretBox
    const sealed = { keyId: row?.secret_key_id ?? '', ciphertext: row?.secret_ciphertext ?? Buffer.of() }
    expect(box.open(sealed, endpointSecretContext({ id, accountId }))).toBe(secret)
  })

  it.each([
    ['left out', {}, []],
    ['null', { events: null }, []],
    ['empty', { events: [] }, []],
    [
      'with repetitions, which are dropped',
      { events: ['webhook.ping', 'summary.completed', 'webhook.ping'] },
      ['webhook.ping', 'summary.completed'],
    ],
    ['of 50 entries', { events: Array<string>(50).fill('webhook.ping') }, ['webhook.ping']],
  ])('takes events %s', async (_, given, stored) => {
    const { token } = await api.anAccount()
    const reply = await api.call('POST', '/v1/webhooks', { token, body: { url: HOOK, ...given } })
    expect([reply.status, reply.body]).toEqual([200, expect.objectContaining({ events: stored })])
  })

  it.each([
    ['no url', {}, 'url is required'],
    ['a url that is null', { url: null }, anyString],
    ['a url that is a number', { url: 1 }, anyString],
    ['an empty url', { url: '' }, anyString],
    ['http', { url: 'http://example.com/hook' }, 'url must start with https://'],
    ['credentials in the url', { url: 'https://a:b@example.com/' }, 'url must not contain credentials'],
    ['a fragment', { url: 'https://example.com/#x' }, 'url must not contain a fragment'],
    ['a forbidden port', { url: 'https://example.com:22/' }, 'url has a port that is not allowed'],
    ['localhost', { url: 'https://localhost/' }, 'url must have a public host name'],
    ['this service', { url: 'https://hooks.signet.example/x' }, 'url must not point to this service'],
    ['the identity server', { url: 'https://identity.signet.example' }, 'url must not point to this service'],
    ['a private literal', { url: 'https://10.0.0.1/' }, 'url must resolve to public addresses only'],
    ['an unknown event type', { url: HOOK, events: ['summary.done'] }, 'Unknown event type: summary.done'],
    ['events that are a string', { url: HOOK, events: 'summary.completed' }, anyString],
    ['an event that is no string', { url: HOOK, events: [1] }, anyString],
    ['51 events', { url: HOOK, events: Array<string>(51).fill('webhook.ping') }, anyString],
  ])('refuses %s with 400 and stores nothing', async (_, body, message) => {
    const { token } = await api.anAccount()
    const reply = await api.call('POST', '/v1/webhooks', { token, body })
    expect([reply.status, reply.body]).toEqual([400, error('bad_request', message)])
    expect(await listOf(api, token)).toEqual([])
  })

  it.each([
    ['no body', {}, 400],
    ['malformed JSON', { raw: '{"url":' }, 400],
    ['an array', { raw: '[]' }, 400],
    ['null', { raw: 'null' }, 400],
    ['another content type', { raw: '{}', headers: { 'content-type': 'text/plain' } }, 400],
    ['65 KiB', { raw: JSON.stringify({ url: HOOK, x: 'x'.repeat(66_560) }) }, 413],
  ])('refuses %s without a stack trace', async (_, call, status) => {
    const { token } = await api.anAccount()
    const reply = await api.call('POST', '/v1/webhooks', { token, ...call })
    expect([reply.status, reply.body]).toEqual([status, error('bad_request')])
    expect(reply.text).not.toContain('node_modules')
  })

  it('takes 64 KiB, and members called __proto__ or constructor for nothing', async () => {
    const { token } = await api.anAccount()
    const head = `{"url":"${HOOK}","__proto__":{"events":["webhook.ping"]},"constructor":{"prototype":{"polluted":1}},"x":"`
    const raw = `${head}${'x'.repeat(65_536 - head.length - 2)}"}`
    const reply = await api.call('POST', '/v1/webhooks', { token, raw })
    expect([reply.status, reply.body]).toEqual([200, expect.objectContaining({ events: [] })])
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  it('gives exactly five places to twenty simultaneous callers', async () => {
    const { token } = await api.anAccount()
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => api.call('POST', '/v1/webhooks', { token, body: { url: HOOK } })),
    )
    const refused = replies.filter(({ status }) => status === 429)
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(5)
    expect(refused.map(({ body }) => body)).toEqual(Array(15).fill(error('too_many_requests')))
    // By which callers tell the quota from a rate limit.
    expect(refused.every(({ headers }) => headers.get('retry-after') === null)).toBe(true)
    expect(await listOf(api, token)).toHaveLength(5)
  })

  it('counts disabled subscriptions until they are deleted, and never those of others', async () => {
    const { token } = await api.anAccount()
    const made = []
    for (let i = 0; i < 5; i++) made.push(await subscribe(api, token))
    for (const { id } of made) await disable(api, id)
    const create = () => api.call('POST', '/v1/webhooks', { token, body: { url: HOOK } })
    expect((await create()).status).toBe(429)
    await subscribe(api, (await api.anAccount()).token)
    await api.call('DELETE', `/v1/webhooks/${made[0]?.id}`, { token })
    expect([(await create()).status, (await create()).status]).toEqual([200, 429])
  })

  it('looks at the body before the url, and at the url before the quota', async () => {
    const { token } = await api.anAccount()
    for (let i = 0; i < 5; i++) await subscribe(api, token)
    const message = async (body: object) =>
      (await api.call('POST', '/v1/webhooks', { token, body })).body as { error: { message: string } }
    expect(await message({ url: 'http://x', events: ['nope'] })).toEqual(
      error('bad_request', 'Unknown event type: nope'),
    )
    expect(await message({ url: 'http://x' })).toEqual(error('bad_request', 'url must start with https://'))
    expect(await message({ url: HOOK })).toEqual(error('too_many_requests'))
  })
})

describe('GET /v1/webhooks', () => {
  it('lists the own subscriptions by ascending id, with exactly the documented members', async () => {
    const { token } = await api.anAccount()
    const first = await subscribe(api, token)
    const second = await subscribe(api, token, { url: 'https://example.com/2' })
    await subscribe(api, (await api.anAccount()).token)
    const reply = await api.call('GET', '/v1/webhooks', { token })
    const common = {
      status: 1,
      consecutive_failures: 0,
      created_at: matching(ISO),
      updated_at: matching(ISO),
    }
    expect(reply.body).toEqual({
      items: [
        { id: first.id, url: HOOK, events: ['summary.completed'], ...common },
        { id: second.id, url: 'https://example.com/2', events: [], ...common },
      ],
    })
    expect(reply.text).not.toContain(first.secret)
  })

  it('is an empty list for an account without any', async () => {
    const { token } = await api.anAccount()
    expect((await api.call('GET', '/v1/webhooks', { token })).body).toEqual({ items: [] })
  })
})

describe('PATCH /v1/webhooks/{endpoint_id}', () => {
  const FAILURES = 20
  async function given({ disabled = false, failures = 0 } = {}) {
    const { accountId, token } = await api.anAccount()
    const { id, secret } = await subscribe(api, token, {
      url: 'https://example.com',
      events: ['webhook.ping'],
    })
    if (disabled) await disable(api, id)
    else
      await api.db.query('update webhook_endpoints set consecutive_failures = $2 where id = $1', [
        id,
        failures,
      ])
    const patch = (call: Parameters<typeof api.call>[2]) =>
      api.call('PATCH', `/v1/webhooks/${id}`, { token, ...call })
    const item = async () => (await listOf(api, token))[0] as SubscriptionBody
    const urlVersion = async () => {
      const { rows } = await api.db.query<{ url_version: number }>(
        'select url_version from webhook_endpoints where id = $1',
        [id],
      )
      return rows[0]?.url_version
    }
    return { accountId, id, secret, patch, item, urlVersion }
  }
  const unchangedUrl = { url: 'https://example.com', consecutive_failures: 3, status: 1 }
  const newUrl = 'https://example.com/new'

  it.each([
    ['{} keeps the url and clears the events', {}, { ...unchangedUrl, events: [] }, 1],
    [
      'a url of null keeps the url',
      { url: null, events: ['summary.completed'] },
      { ...unchangedUrl, events: ['summary.completed'] },
      1,
    ],
    ['an empty url keeps the url', { url: '' }, { ...unchangedUrl, events: [] }, 1],
    ['events of null clear the events', { events: null }, { ...unchangedUrl, events: [] }, 1],
    [
      'events are replaced, each once',
      { events: ['summary.completed', 'summary.completed'] },
      { ...unchangedUrl, events: ['summary.completed'] },
      1,
    ],
    ['the same url changes nothing', { url: 'https://example.com' }, { ...unchangedUrl, events: [] }, 1],
    [
      'the same url in another spelling is stored and changes nothing else',
      { url: 'https://EXAMPLE.com:443/' },
      { ...unchangedUrl, url: 'https://EXAMPLE.com:443/', events: [] },
      1,
    ],
    [
      'another url starts with no failures',
      { url: newUrl, events: ['webhook.ping'] },
      { url: newUrl, events: ['webhook.ping'], status: 1, consecutive_failures: 0 },
      2,
    ],
  ])('active: %s', async (_, body, expected, version) => {
    const { patch, item, urlVersion } = await given({ failures: 3 })
    const before = await item()
    const reply = await patch({ body })
    expect(reply.status).toBe(200)
    expect(reply.body).toEqual({ item: { ...before, ...expected, updated_at: matching(ISO) } })
    expect(await item()).toEqual((reply.body as { item: unknown }).item)
    expect(await urlVersion()).toBe(version)
  })

  it.each([
    [
      'only events: stays disabled and keeps its count',
      { events: ['summary.completed'] },
      {
        url: 'https://example.com',
        events: ['summary.completed'],
        status: 2,
        consecutive_failures: FAILURES,
      },
      1,
    ],
    [
      'an equal url: stays disabled',
      { url: 'https://example.com/' },
      { url: 'https://example.com/', events: [], status: 2, consecutive_failures: FAILURES },
      1,
    ],
    [
      'another url: active again, no failures',
      { url: newUrl, events: ['webhook.ping'] },
      { url: newUrl, events: ['webhook.ping'], status: 1, consecutive_failures: 0 },
      2,
    ],
  ])('disabled: %s', async (_, body, expected, version) => {
    const { patch, urlVersion } = await given({ disabled: true })
    const reply = await patch({ body })
    expect(reply.body).toEqual({ item: expect.objectContaining(expected) as unknown })
    expect(await urlVersion()).toBe(version)
  })

  it.each([
    ['no body', {}],
    ['an empty body in chunks', { raw: new ReadableStream({ start: (stream) => stream.close() }) }],
    ['an array', { raw: '[]' }],
    [
      'a url that is refused, although the events are fine',
      { body: { url: 'http://example.com', events: [] } },
    ],
    ['an unknown event type, although the url is fine', { body: { url: newUrl, events: ['nope'] } }],
    ['a url of another type', { body: { url: 7 } }],
  ])('changes nothing with %s, which is 400', async (_, call) => {
    const { patch, item } = await given({ failures: 3 })
    const before = await item()
    expect((await patch(call)).status).toBe(400)
    expect(await item()).toEqual(before)
  })

  it('moves updated_at forward and leaves secret, created_at and id alone', async () => {
    const { accountId, id, secret, patch, item } = await given()
    const before = await item()
    await patch({ body: { url: newUrl } })
    const after = await item()
    expect(after).toMatchObject({ id: before.id, created_at: before.created_at })
    expect(after.updated_at > before.updated_at).toBe(true)
    const { rows } = await api.db.query<{ ciphertext: Buffer; keyId: string }>(
      'select secret_ciphertext as ciphertext, secret_key_id as "keyId" from webhook_endpoints where id = $1',
      [id],
    )
    const sealed = rows[0] ?? { ciphertext: Buffer.of(), keyId: '' }
    expect(api.service.ctx.config.secretBox.open(sealed, endpointSecretContext({ id, accountId }))).toBe(
      secret,
    )
  })

  it('is not limited by the quota and revives no delivery that has ended', async () => {
    const { token } = await api.anAccount()
    const made = []
    for (let i = 0; i < 5; i++) made.push(await subscribe(api, token))
    const id = made[0]?.id ?? ''
    await disable(api, id)
    await api.db.query(
      `with event as (
         insert into webhook_events (id, account_id, type, source, body, state, dispatched_at)
         select 'evt_' || md5($1), account_id, 'summary.completed', 'x', '{}', 'dispatched', now()
         from webhook_endpoints where id = $1::bigint returning id)
       insert into webhook_deliveries (endpoint_id, event_id, event_type, status, last_error)
       select $1::bigint, id, 'summary.completed', 2, 'endpoint_disabled' from event`,
      [id],
    )
    expect((await api.call('PATCH', `/v1/webhooks/${id}`, { token, body: { url: newUrl } })).status).toBe(200)
    const log = await api.call('GET', `/v1/webhooks/${id}/deliveries`, { token })
    expect(log.body).toMatchObject({ items: [{ status: 2, last_error: 'endpoint_disabled' }] })
  })

  it('keeps one of two simultaneous changes whole', async () => {
    const { patch, item } = await given()
    await Promise.all([
      patch({ body: { url: 'https://example.com/a', events: ['webhook.ping'] } }),
      patch({ body: { url: 'https://example.com/b', events: ['summary.completed'] } }),
    ])
    const { url, events } = await item()
    expect([
      ['https://example.com/a', ['webhook.ping']],
      ['https://example.com/b', ['summary.completed']],
    ]).toContainEqual([url, events])
  })
})

describe('DELETE /v1/webhooks/{endpoint_id}', () => {
  it('answers ok once and 404 after that, and erases the secret', async () => {
    const { token } = await api.anAccount()
    const { id } = await subscribe(api, token)
    const first = await api.call('DELETE', `/v1/webhooks/${id}`, { token })
    expect([first.status, first.body]).toEqual([200, { ok: true }])
    expect((await api.call('DELETE', `/v1/webhooks/${id}`, { token })).status).toBe(404)
    expect(await listOf(api, token)).toEqual([])
    const { rows } = await api.db.query('select secret_ciphertext from webhook_endpoints where id = $1', [id])
    expect(rows).toEqual([{ secret_ciphertext: null }])
  })

  it('is done by exactly one of many simultaneous callers', async () => {
    const { token } = await api.anAccount()
    const { id } = await subscribe(api, token)
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => api.call('DELETE', `/v1/webhooks/${id}`, { token })),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})

describe('ids', () => {
  const routes = [
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['GET', '/deliveries'],
  ] as const

  it.each(routes)('%s %s: a foreign id is answered like one that never was', async (method, suffix) => {
    const { id } = await subscribe(api, (await api.anAccount()).token)
    const { token } = await api.anAccount()
    const ask = (asked: string) =>
      api.call(method, `/v1/webhooks/${asked}${suffix}`, {
        token,
        ...(method === 'PATCH' ? { body: {} } : {}),
      })
    const [foreign, unknown] = await Promise.all([ask(id), ask('9223372036854775807')])
    expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
    expect(foreign.body).toEqual(error('not_found'))
  })

  it.each([
    '0',
    '-1',
    '1e3',
    '01',
    '9223372036854775808',
    '99999999999999999999',
    'abc',
    '%00',
    '1%20',
    '½',
    '%E0%A4%A',
  ])('%s is no id: 404 on every route, never 400 or 500', async (asked) => {
    const { token } = await api.anAccount()
    for (const [method, suffix] of routes) {
      const reply = await api.call(method, `/v1/webhooks/${asked}${suffix}`, { token })
      expect([method, suffix, reply.status]).toEqual([method, suffix, 404])
    }
  })

  it('a foreign id wins over a bad body and over a bad query', async () => {
    const { id } = await subscribe(api, (await api.anAccount()).token)
    const { token } = await api.anAccount()
    expect((await api.call('PATCH', `/v1/webhooks/${id}`, { token, raw: '{' })).status).toBe(404)
    expect((await api.call('GET', `/v1/webhooks/${id}/deliveries?page=x`, { token })).status).toBe(404)
  })
})

it('a known path with another method is 405 with Allow, an unknown path 404, in the form of /v1', async () => {
  const { token } = await api.anAccount()
  const wrong = await api.call('PUT', '/v1/webhooks', { token })
  expect([wrong.status, wrong.headers.get('allow'), wrong.body]).toEqual([
    405,
    'POST, GET, HEAD',
    error('bad_request'),
  ])
  const unknown = await api.call('GET', '/v1/nothing', { token })
  expect([unknown.status, unknown.body]).toEqual([404, error('not_found')])
})
