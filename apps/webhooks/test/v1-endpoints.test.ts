import { describe, expect, it } from '@jest/globals'
import { endpointSecretContext, eventTypes, type SecretBox } from '@signet/webhook-core'
import { disable, listOf, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()

const HOOK = 'https://example.com/hook'
const error = (code: string, message: unknown = expect.any(String)) => ({ error: { code, message } })
const anyString = expect.any(String) as unknown
const matching = (pattern: RegExp) => expect.stringMatching(pattern) as unknown
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

it('every route takes bodies of up to 64 KiB', async () => {
  const { token } = await api.anAccount()
  const { id } = await createEndpoint(api, token)
  const room = 'x'.repeat(65_000)
  const requests: [string, string, object][] = [
    ['POST', '', { url: HOOK, room }],
    ['PATCH', `/${id}`, { room }],
    ['POST', `/${id}/secret/rotate`, { room }],
    ['POST', `/${id}/recover`, { since: '2026-01-01T00:00:00Z', room }],
  ]
  for (const [method, below, body] of requests)
    expect((await api.call(method, `/v1/webhooks${below}`, { token, body })).status).toBe(200)
})

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
        secret: matching(/^whsec_[A-Za-z0-9+/]{43}=$/),
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
    const { id, secret } = await createEndpoint(api, token)
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
    ['a forbidden port', { url: 'https://example.com:22/' }, 'url has port 22, which is not allowed'],
    ['localhost', { url: 'https://localhost/' }, 'url must have a public host name'],
    ['this service', { url: 'https://hooks.signet.example/x' }, 'url must not point to this service'],
    ['the identity server', { url: 'https://identity.signet.example' }, 'url must not point to this service'],
    [
      'a private literal',
      { url: 'https://10.0.0.1/' },
      'url must have a host that resolves to public addresses only',
    ],
    [
      'an unknown event type',
      { url: HOOK, events: ['summary.done'] },
      `Unknown event type summary.done: use one of ${eventTypes.join(', ')}`,
    ],
    [
      'an empty event type',
      { url: HOOK, events: [''] },
      `An event type is empty: use one of ${eventTypes.join(', ')}`,
    ],
    [
      'an event type of spaces that nobody sees',
      { url: HOOK, events: [' \u200b'] },
      `An event type is empty: use one of ${eventTypes.join(', ')}`,
    ],
    ['events that are a string', { url: HOOK, events: 'summary.completed' }, anyString],
    ['an event that is not a string', { url: HOOK, events: [1] }, anyString],
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
    // Without Retry-After, callers can tell the quota from a rate limit.
    expect(refused.every(({ headers }) => headers.get('retry-after') === null)).toBe(true)
    expect(await listOf(api, token)).toHaveLength(5)
  })

  it('counts disabled endpoints until they are deleted, and never those of others', async () => {
    const { token } = await api.anAccount()
    const made = []
    for (let i = 0; i < 5; i++) made.push(await createEndpoint(api, token))
    for (const { id } of made) await disable(api, id)
    const create = () => api.call('POST', '/v1/webhooks', { token, body: { url: HOOK } })
    expect((await create()).status).toBe(429)
    await createEndpoint(api, (await api.anAccount()).token)
    await api.call('DELETE', `/v1/webhooks/${made[0]?.id}`, { token })
    expect([(await create()).status, (await create()).status]).toEqual([200, 429])
  })

  it('looks at the body before the url, and at the url before the quota', async () => {
    const { token } = await api.anAccount()
    for (let i = 0; i < 5; i++) await createEndpoint(api, token)
    const message = async (body: object) =>
      (await api.call('POST', '/v1/webhooks', { token, body })).body as { error: { message: string } }
    expect(await message({ url: 'http://x', events: ['nope'] })).toEqual(
      error('bad_request', `Unknown event type nope: use one of ${eventTypes.join(', ')}`),
    )
    expect(await message({ url: 'http://x' })).toEqual(error('bad_request', 'url must start with https://'))
    expect(await message({ url: HOOK })).toEqual(error('too_many_requests'))
  })
})

describe('GET /v1/webhooks', () => {
  it('lists the own endpoints by ascending id, with exactly the documented members', async () => {
    const { token } = await api.anAccount()
    const first = await createEndpoint(api, token)
    const second = await createEndpoint(api, token, { url: 'https://example.com/2' })
    await createEndpoint(api, (await api.anAccount()).token)
    const reply = await api.call('GET', '/v1/webhooks', { token })
    const common = {
      status: 1,
      consecutive_failures: 0,
      failing_since: '',
      disabled_at: '',
      disabled_reason: '',
      secret_activates_at: '',
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
