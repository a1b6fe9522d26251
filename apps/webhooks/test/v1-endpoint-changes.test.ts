import { describe, expect, it } from '@jest/globals'
import { endpointSecretContext } from '@signet/webhook-core'
import { disable, listOf, createEndpoint, type EndpointBody } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()

const error = (code: string, message: unknown = expect.any(String)) => ({ error: { code, message } })
const matching = (pattern: RegExp) => expect.stringMatching(pattern) as unknown
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('PATCH /v1/webhooks/{endpoint_id}', () => {
  const FAILURES = 20
  async function given({ disabled = false, failures = 0 } = {}) {
    const { accountId, token } = await api.anAccount()
    const { id, secret } = await createEndpoint(api, token, {
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
    const item = async () => (await listOf(api, token))[0] as EndpointBody
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
    for (let i = 0; i < 5; i++) made.push(await createEndpoint(api, token))
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
    const { id } = await createEndpoint(api, token)
    const first = await api.call('DELETE', `/v1/webhooks/${id}`, { token })
    expect([first.status, first.body]).toEqual([200, { ok: true }])
    expect((await api.call('DELETE', `/v1/webhooks/${id}`, { token })).status).toBe(404)
    expect(await listOf(api, token)).toEqual([])
    const { rows } = await api.db.query('select secret_ciphertext from webhook_endpoints where id = $1', [id])
    expect(rows).toEqual([{ secret_ciphertext: null }])
  })

  it('is done by exactly one of many simultaneous callers', async () => {
    const { token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => api.call('DELETE', `/v1/webhooks/${id}`, { token })),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})

describe('ids', () => {
  const routes = [
    ['GET', ''],
    ['POST', '/enable'],
    ['POST', '/secret/rotate'],
    ['POST', '/secret/activate'],
    ['POST', '/secret/cancel'],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/test'],
    ['GET', '/deliveries'],
  ] as const

  it.each(routes)(
    '%s %s: a foreign or deleted id is answered like one that never was',
    async (method, suffix) => {
      const { id } = await createEndpoint(api, (await api.anAccount()).token)
      const { token } = await api.anAccount()
      const { id: gone } = await createEndpoint(api, token)
      await api.call('DELETE', `/v1/webhooks/${gone}`, { token })
      const ask = (asked: string) =>
        api.call(method, `/v1/webhooks/${asked}${suffix}`, {
          token,
          ...(method === 'PATCH' ? { body: {} } : {}),
        })
      const [foreign, deleted, unknown] = await Promise.all([ask(id), ask(gone), ask('9223372036854775807')])
      for (const reply of [foreign, deleted]) expect([reply.status, reply.text]).toEqual([404, unknown.text])
      expect(foreign.body).toEqual(error('not_found'))
    },
  )

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
  ])('%s is not an id: 404 on every route, never 400 or 500', async (asked) => {
    const { token } = await api.anAccount()
    for (const [method, suffix] of routes) {
      const reply = await api.call(method, `/v1/webhooks/${asked}${suffix}`, { token })
      expect([method, suffix, reply.status]).toEqual([method, suffix, 404])
    }
  })

  it('a foreign id wins over a bad body and over a bad query', async () => {
    const { id } = await createEndpoint(api, (await api.anAccount()).token)
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
