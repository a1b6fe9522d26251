import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import type { EventDefinition } from '@signet/webhook-core'
import { SampleService } from '../src/samples/sample-service.js'
import { useApi } from './support/api.js'

const api = useApi()

type Sample = { id: string; type: string; created_at: string; data: Record<string, unknown> }

async function samples(token: string, query = '') {
  const reply = await api.call('GET', `/v1/webhook-events/samples${query}`, { token })
  return { ...reply, items: reply.body as Sample[] }
}

/** A frozen event of an account that is `age` hours old. */
async function frozen(accountId: string, name: string, age: number): Promise<string> {
  const body = `{"id":"evt_x","type":"summary.completed","created_at":"2026-01-01T00:00:00.000Z","data":{"audio_id":"${name}"}}`
  await api.db.query(
    `insert into webhook_events (id, account_id, type, audio_id, source, body, state, created_at, dispatched_at)
     values ('evt_' || md5($1 || $2), $1::uuid, 'summary.completed', $2, 'test', $3, 'dispatched',
             now() - interval '1 hour' * $4, now())`,
    [accountId, name, body, age],
  )
  return body
}

describe('GET /v1/webhook-events/samples', () => {
  it.each([
    ['', 'summary.completed', 'evt_sample_summary_completed'],
    ['?event=summary.completed', 'summary.completed', 'evt_sample_summary_completed'],
    ['?event=webhook.ping', 'webhook.ping', 'evt_sample_webhook_ping'],
  ])('gives an empty account exactly one invented event (%s)', async (query, type, id) => {
    const { token } = await api.anAccount()
    const { status, items } = await samples(token, query)
    expect([status, items.length, items[0]?.id, items[0]?.type]).toEqual([200, 1, id, type])
  })

  it('shows every field in the invented event', async () => {
    const { items } = await samples((await api.anAccount()).token)
    expect(Object.keys(items[0] ?? {})).toEqual(['id', 'type', 'created_at', 'data'])
    expect(Object.keys(items[0]?.data ?? {})).toEqual([
      'audio_id',
      'report_id',
      'status',
      'title',
      'duration_ms',
      'recorded_at',
      'transcript',
      'summaries',
    ])
    expect(items[0]?.data['transcript']).toMatchObject({
      language: 'en',
      truncated: false,
      segments: [{}, {}],
    })
  })

  it('gives the newest own events byte for byte as they were frozen, 3 by default and 10 at most', async () => {
    const { accountId, token } = await api.anAccount()
    const bodies = []
    for (let age = 0; age < 12; age++) bodies.push(await frozen(accountId, `rec_${age}`, age))
    expect((await samples(token)).text).toBe(`[${bodies.slice(0, 3).join(',')}]`)
    expect((await samples(token, '?limit=99')).text).toBe(`[${bodies.slice(0, 10).join(',')}]`)
    expect((await samples(token, '?limit=1')).text).toBe(`[${bodies[0]}]`)
  })

  it('makes samples of the newest recordings with summaries when there is no event, HTML as it is', async () => {
    const { accountId, token } = await api.anAccount()
    const put = (audioId: string, body: object) =>
      api.internal('PUT', `/internal/v1/accounts/${accountId}/recordings/${audioId}`, { body })
    const summaries = [{ label: 'S', content: '<h1>Hi</h1>', format: 'html' }]
    await put('rec_without_summary', { title: 'Nothing to tell' })
    for (const audioId of ['rec_1', 'rec_2', 'rec_3', 'rec_4'])
      await put(audioId, { title: audioId, summaries })
    await put('rec_4', { transcript: { text: 'x'.repeat(1_100_000), segments: [] } })
    const { items } = await samples(token)
    expect(items.map(({ id }) => id)).toEqual(['evt_sample_rec_4', 'evt_sample_rec_3', 'evt_sample_rec_2'])
    expect(items[1]).toEqual({
      id: 'evt_sample_rec_3',
      type: 'summary.completed',
      created_at: expect.stringMatching(/Z$/) as unknown,
      data: { audio_id: 'rec_3', title: 'rec_3', summaries },
    })
    expect(items[0]?.data['transcript']).toMatchObject({ truncated: true })
    // The budget is computed with `truncated: false`, which is a byte longer.
    expect(Buffer.byteLength(JSON.stringify(items[0]))).toBe(1_048_575)
  })

  it('omits a part that takes too long to read, and ends its statement', async () => {
    const { accountId, token } = await api.anAccount()
    const body = {
      title: 'x',
      transcript: { text: 'x', segments: [] },
      summaries: [{ label: 'S', content: 'x', format: 'markdown' }],
    }
    await api.internal('PUT', `/internal/v1/accounts/${accountId}/recordings/rec_1`, { body })
    await api.db.transaction(async (tx) => {
      await tx.query('lock table transcripts in access exclusive mode')
      const { items } = await samples(token)
      expect(items).toMatchObject([{ data: { audio_id: 'rec_1', title: 'x', summaries: body.summaries } }])
      expect(items[0]?.data).not.toHaveProperty('transcript')
      await waitFor(async () => {
        const { rows } = await api.db.query(
          `select from pg_stat_activity where datname = current_database() and state = 'active'
             and query like '%join transcripts%' and pid <> pg_backend_pid()`,
        )
        return rows.length === 0
      })
    })
  })

  it('gives fewer when they are huge, so that nobody can have the service hold hundreds of megabytes', async () => {
    const { accountId, token } = await api.anAccount()
    for (const age of [1, 2, 3, 4]) await frozen(accountId, `rec_${age}`, age)
    await api.db.query(`update webhook_events set body = rpad(body, 9 * 1024 * 1024) where account_id = $1`, [
      accountId,
    ])
    const { items } = await samples(token, '?limit=10')
    expect(items.map(({ data }) => data['audio_id'])).toEqual(['rec_1', 'rec_2'])
  })

  it('gives fewer huge recordings too, and always one', async () => {
    const { accountId, token } = await api.anAccount()
    const content = 'x'.repeat(17 * 1024 * 1024)
    for (const audioId of ['rec_1', 'rec_2']) {
      const body = { summaries: [{ label: 'S', content, format: 'markdown' }] }
      await api.internal('PUT', `/internal/v1/accounts/${accountId}/recordings/${audioId}`, { body })
    }
    const { items } = await samples(token, '?limit=10')
    expect(items.map(({ id }) => id)).toEqual(['evt_sample_rec_2'])
  })

  it('never shows data of another account', async () => {
    const other = await api.anAccount()
    await frozen(other.accountId, 'rec_secret', 0)
    await api.internal('PUT', `/internal/v1/accounts/${other.accountId}/recordings/rec_secret`, {
      body: { title: 'secret', summaries: [{ label: 'S', content: 'secret', format: 'markdown' }] },
    })
    const { text, items } = await samples((await api.anAccount()).token, '?limit=10')
    expect(text).not.toContain('secret')
    expect(items).toHaveLength(1)
  })

  it('does not show pings, nor events that are still to be built or purged', async () => {
    const { accountId, token } = await api.anAccount()
    await api.db.query(
      `insert into webhook_events (id, account_id, type, source, state)
       values ('evt_' || md5($1 || 'a'), $1::uuid, 'summary.completed', 'test', 'queued'),
              ('evt_' || md5($1 || 'b'), $1::uuid, 'summary.completed', 'test', 'purged')`,
      [accountId],
    )
    expect((await samples(token)).items.map(({ id }) => id)).toEqual(['evt_sample_summary_completed'])
  })

  it('creates no delivery and no event', async () => {
    const { accountId, token } = await api.anAccount()
    await samples(token)
    const { rows } = await api.db.query('select id from webhook_events where account_id = $1', [accountId])
    expect(rows).toEqual([])
  })

  it.each([
    'event=summary.done',
    'event=',
    'event=webhook.ping&event=webhook.ping',
    'limit=0',
    'limit=-1',
    'limit=x',
    'limit=',
    'limit=1&limit=2',
  ])('%s is 400', async (query) => {
    const { token } = await api.anAccount()
    const { status, body } = await samples(token, `?${query}`)
    expect([status, body]).toMatchObject([400, { error: { code: 'bad_request' } }])
  })
})

describe('samples of an added event type', () => {
  const added: EventDefinition = {
    sentWhen: { en: 'a recording was deleted', de: 'eine Aufnahme gelöscht wurde' },
    properties: { audio_id: { type: 'string' } },
    required: ['audio_id'],
    sample: { audio_id: 'rec_sample' },
    subject: 'recording',
    endsWithRecording: false,
    build: ({ id }, { audioId }) => JSON.stringify({ id, deleted: audioId }),
  }
  const list = (accountId: string) =>
    new SampleService({
      db: api.db,
      now: () => new Date(),
      catalogue: { 'recording.deleted': added },
    }).list(accountId, 'recording.deleted', { limit: 3 })

  it('come from the account’s recordings, and are invented for an account without any', async () => {
    const { accountId } = await api.anAccount()
    const [invented, ...others] = await list(accountId)
    expect(others).toEqual([])
    expect(JSON.parse(invented ?? '')).toMatchObject({
      id: 'evt_sample_recording_deleted',
      type: 'recording.deleted',
      data: { audio_id: 'rec_sample' },
    })
    await api.internal('PUT', `/internal/v1/accounts/${accountId}/recordings/rec_1`, {
      body: { summaries: [{ label: 'S', content: 'x', format: 'markdown' }] },
    })
    expect(await list(accountId)).toEqual(['{"id":"evt_sample_rec_1","deleted":"rec_1"}'])
  })
})
