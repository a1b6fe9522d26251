import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { aPersonalToken, userJwt } from './support/access-token.js'
import { aNotice, eventRows, mirrorOf, queuedEvents } from './support/api-data.js'
import { useApi } from './support/api.js'
import { SECOND_TOKEN, SERVICE_TOKEN } from './support/harness.js'

const api = useApi()

type Accepted = { event_id: string; duplicate: boolean }
const ingest = (body: unknown, token = SERVICE_TOKEN) =>
  api.internal('POST', '/internal/v1/summary-ready', { body, token })
const error = (code: string, message: unknown = expect.any(String)) => ({ error: { code, message } })

describe('POST /internal/v1/summary-ready', () => {
  it('stores event and recording together and hands the event to the queue by ids alone', async () => {
    const { accountId } = await api.anAccount()
    const reply = await ingest(aNotice(accountId))
    const { event_id } = reply.body as Accepted
    expect([reply.status, reply.body]).toEqual([
      202,
      { event_id: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as unknown, duplicate: false },
    ])
    expect(await eventRows(api, accountId)).toEqual([
      { id: event_id, type: 'summary.completed', target_endpoint_id: null, state: 'queued', body: null },
    ])
    expect(await mirrorOf(api, accountId)).toEqual({
      recording: {
        report_id: 'rep_7',
        status: 3,
        title: 'Weekly sync',
        duration_ms: '1834000',
        recorded_at: '2026-01-01T09:00:00.000Z',
      },
      transcript: {
        language: 'en',
        text: 'Hello.',
        segments: [{ speaker: 'A', start: 0, end: 4.2, text: 'Hello.' }],
      },
      summaries: [{ label: 'Summary', content: '<h1>Hi</h1>', format: 'html', template_name: 'Default' }],
    })
    const queued = await waitFor(async () => {
      const found = (await queuedEvents(api)).filter(({ eventId }) => eventId === event_id)
      return found.length > 0 && found
    })
    expect(queued).toEqual([{ eventId: event_id, accountId }])
  })

  it('needs no more than key, account and recording', async () => {
    const { accountId } = await api.anAccount()
    const reply = await ingest({
      source_event_key: 'k',
      account_id: accountId,
      audio_id: 'r',
      extra: { a: 1 },
    })
    expect(reply.status).toBe(202)
    expect(await mirrorOf(api, accountId)).toEqual({ recording: null, transcript: null, summaries: [] })
  })

  it('answers the same key and content with the same event, in any order of members', async () => {
    const { accountId } = await api.anAccount()
    const notice = aNotice(accountId)
    const first = await ingest(notice)
    const again = await ingest(Object.fromEntries(Object.entries(notice).reverse()))
    expect([again.status, again.body]).toEqual([
      200,
      { event_id: (first.body as Accepted).event_id, duplicate: true },
    ])
    expect(await eventRows(api, accountId)).toHaveLength(1)
  })

  it('refuses the same key with other content and changes nothing', async () => {
    const { accountId } = await api.anAccount()
    const notice = aNotice(accountId)
    await ingest(notice)
    const before = await mirrorOf(api, accountId)
    const reply = await ingest({ ...notice, recording: { title: 'Other' }, transcript: null })
    expect([reply.status, reply.body]).toEqual([409, error('conflict')])
    expect(await mirrorOf(api, accountId)).toEqual(before)
    expect(await eventRows(api, accountId)).toHaveLength(1)
  })

  it('creates one event for twenty simultaneous callers with one key', async () => {
    const { accountId } = await api.anAccount()
    const notice = aNotice(accountId)
    const replies = await Promise.all(Array.from({ length: 20 }, () => ingest(notice)))
    expect(replies.filter(({ status }) => status === 202)).toHaveLength(1)
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(19)
    expect(new Set(replies.map(({ body }) => (body as Accepted).event_id)).size).toBe(1)
    expect(await eventRows(api, accountId)).toHaveLength(1)
  })

  it('lets one of many simultaneous callers with different content under one key win whole', async () => {
    const { accountId } = await api.anAccount()
    const notice = aNotice(accountId)
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, i) => ingest({ ...notice, recording: { title: `Title ${i}` } })),
    )
    const winner = replies.findIndex(({ status }) => status === 202)
    expect(replies.map(({ status }) => status).sort()).toEqual([202, ...Array<number>(11).fill(409)])
    expect((await mirrorOf(api, accountId)).recording?.['title']).toBe(`Title ${winner}`)
  })

  it('keeps keys of different callers apart, and those of one caller together over a token rotation', async () => {
    const { accountId } = await api.anAccount()
    const notice = aNotice(accountId)
    const results = [
      await ingest(notice),
      await ingest(notice, 'service-token-of-another-caller-012345678'),
      await ingest(notice, SECOND_TOKEN),
    ]
    expect(results.map(({ status }) => status)).toEqual([202, 202, 200])
  })

  it('stores the event of an account without any endpoint', async () => {
    const { accountId } = await api.anAccount()
    expect((await ingest(aNotice(accountId))).status).toBe(202)
    expect(await eventRows(api, accountId)).toHaveLength(1)
  })

  it('replaces lone surrogates and NUL by U+FFFD wherever text is stored', async () => {
    const { accountId } = await api.anAccount()
    const bad = 'a\0b\ud800c\udc00d'
    const good = 'a\ufffdb\ufffdc\ufffdd'
    const reply = await ingest({
      source_event_key: bad,
      account_id: accountId.toUpperCase(),
      audio_id: bad,
      recording: { report_id: bad, title: `${bad} 😀` },
      transcript: { language: bad, text: bad, segments: [{ speaker: bad, start: 0, end: 1, text: bad }] },
      summaries: [{ label: bad, content: bad, format: bad, template_name: bad }],
    })
    expect(reply.status).toBe(202)
    expect(await mirrorOf(api, accountId)).toMatchObject({
      recording: { report_id: good, title: `${good} 😀` },
      transcript: { language: good, text: good, segments: [{ speaker: good, start: 0, end: 1, text: good }] },
      summaries: [{ label: good, content: good, format: good, template_name: good }],
    })
  })

  it.each([
    ['no key', { source_event_key: undefined }, 'source_event_key is required'],
    ['an empty key', { source_event_key: '' }, undefined],
    ['a key of 201 characters', { source_event_key: 'k'.repeat(201) }, undefined],
    [
      'an account that is not a UUID',
      { account_id: 'x' },
      'account_id must be a UUID such as 8e0f9b52-6c1d-4f3a-9b7e-2d5c4a1f0e63',
    ],
    ['no recording', { audio_id: undefined }, 'audio_id is required'],
    ['an audio id of 129 characters', { audio_id: '😀'.repeat(129) }, undefined],
    ['a recording that is a list', { recording: [] }, undefined],
    ['a status over 32 bits', { recording: { status: 2_147_483_648 } }, undefined],
    ['a duration with a fraction', { recording: { duration_ms: 1.5 } }, undefined],
    ['a negative duration', { recording: { duration_ms: -1 } }, undefined],
    [
      'a time without a zone',
      { recording: { recorded_at: '2026-01-01T09:00:00' } },
      'recording.recorded_at must be a date and time such as 2026-01-31T09:00:00Z',
    ],
    ['a month that does not exist', { recording: { recorded_at: '2026-13-01T09:00:00Z' } }, undefined],
    ['a day that does not exist', { recording: { recorded_at: '2026-02-29T09:00:00+01:00' } }, undefined],
    ['an hour that does not exist', { recording: { recorded_at: '2026-01-01T24:00:00Z' } }, undefined],
    ['a time after the year 9999', { recording: { recorded_at: '9999-12-31T23:59:59-01:00' } }, undefined],
    ['a time before the year 1', { recording: { recorded_at: '0001-01-01T00:00:00+01:00' } }, undefined],
    ['the year 0', { recording: { recorded_at: '0000-01-01T00:00:00Z' } }, undefined],
    ['a transcript without text', { transcript: { language: 'en' } }, 'transcript.text is required'],
    [
      'a segment whose start is text',
      { transcript: { text: 'x', segments: [{ speaker: 'A', start: '0', end: 1, text: 'x' }] } },
      'transcript.segments[0].start must be a number',
    ],
    [
      'a summary without format',
      { summaries: [{ label: 'x', content: 'x' }] },
      'summaries[0].format is required',
    ],
  ])('refuses %s', async (_, change, message) => {
    const { accountId } = await api.anAccount()
    const reply = await ingest({ ...aNotice(accountId), ...change })
    expect([reply.status, reply.body]).toEqual([400, error('bad_request', message ?? expect.any(String))])
    expect(await eventRows(api, accountId)).toEqual([])
  })

  it.each([
    ['no body', {}, 400],
    ['malformed JSON', { raw: '{"a":' }, 400],
    ['an array', { raw: '[]' }, 400],
    ['another content type', { raw: '{}', headers: { 'content-type': 'text/plain' } }, 400],
    [
      'nesting of 200 levels',
      {
        raw: `{"source_event_key":"k","account_id":"6b0f0f0f-0000-4000-8000-000000000000","audio_id":"r","x":${'['.repeat(200)}${']'.repeat(200)}}`,
      },
      400,
    ],
    [
      'nesting of 30,000 levels',
      {
        raw: `{"source_event_key":"k","account_id":"6b0f0f0f-0000-4000-8000-000000000000","audio_id":"r","x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
      },
      400,
    ],
  ])('refuses %s without a stack trace', async (_, call, status) => {
    const reply = await api.internal('POST', '/internal/v1/summary-ready', call)
    expect([reply.status, reply.body]).toEqual([status, error('bad_request')])
  })

  it('takes times with an offset and bounds at their ends', async () => {
    const { accountId } = await api.anAccount()
    const recording = {
      status: -2_147_483_648,
      duration_ms: Number.MAX_SAFE_INTEGER,
      recorded_at: '2026-01-01T10:00:00+01:00',
      title: null,
    }
    expect((await ingest({ ...aNotice(accountId), recording })).status).toBe(202)
    expect((await mirrorOf(api, accountId)).recording).toEqual({
      report_id: null,
      status: -2_147_483_648,
      title: null,
      duration_ms: '9007199254740991',
      recorded_at: '2026-01-01T09:00:00.000Z',
    })
  })
})

describe('service tokens', () => {
  const routes = (accountId: string) =>
    [
      ['POST', '/internal/v1/summary-ready'],
      ['PUT', `/internal/v1/accounts/${accountId}/recordings/r`],
      ['DELETE', `/internal/v1/accounts/${accountId}/recordings/r`],
      ['POST', `/internal/v1/accounts/${accountId}/revoke`],
      ['DELETE', `/internal/v1/accounts/${accountId}`],
    ] as const

  it('are the only credential: no token, a wrong one, those of /v1 and of users are 401 on every route', async () => {
    const { accountId, token } = await api.anAccount()
    const personal = await aPersonalToken(api.db, accountId)
    expect((await api.call('GET', '/v1/webhooks', { token: personal })).status).toBe(200)
    for (const [method, path] of routes(accountId)) {
      for (const credential of [null, 'x', `${SERVICE_TOKEN}x`, token, personal, userJwt(accountId)]) {
        const reply = await api.internal(method, path, {
          token: credential,
          ...(method === 'DELETE' ? {} : { raw: '{' }),
        })
        expect([reply.status, reply.body]).toEqual([401, error('unauthorized')])
        expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer realm="internal"/)
      }
    }
  })

  it('open nothing on the public listener, where the internal API does not exist', async () => {
    const { accountId } = await api.anAccount()
    for (const [method, path] of routes(accountId)) {
      const reply = await api.call(method, path, {
        token: SERVICE_TOKEN,
        ...(method === 'DELETE' ? {} : { body: {} }),
      })
      expect(reply.status).toBe(404)
    }
    expect((await api.call('GET', '/v1/webhooks', { token: SERVICE_TOKEN })).status).toBe(401)
    expect((await api.call('GET', '/metrics')).status).toBe(404)
  })
})
