import { describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { lockRecording } from '../src/ingest/recording-store.js'
import { aNotice, eventRows, mirrorOf, createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'
import { putRecording } from './support/recordings.js'

const api = useApi()

const path = (accountId: string, audioId = 'rec_1001') =>
  `/internal/v1/accounts/${accountId}/recordings/${encodeURIComponent(audioId)}`
const put = (accountId: string, body: unknown, audioId?: string) =>
  api.internal('PUT', path(accountId, audioId), { body })

const FIELDS = {
  report_id: 'rep_1',
  status: 1,
  title: 'One',
  duration_ms: 5,
  recorded_at: '2026-01-01T00:00:00Z',
}
const STORED = { ...FIELDS, duration_ms: '5', recorded_at: '2026-01-01T00:00:00.000Z' }
const TRANSCRIPT = {
  language: 'de',
  text: 'Hallo',
  segments: [{ speaker: 'A', start: 0, end: 1, text: 'Hallo' }],
}
const SUMMARIES = ['a', 'b', 'c'].map((label) => ({
  label,
  content: label,
  format: 'markdown',
  template_name: null,
}))

describe('PUT /internal/v1/accounts/{account_id}/recordings/{audio_id}', () => {
  it('stores the fields of a recording, its transcript and its summaries, and makes no event', async () => {
    const { accountId } = await api.anAccount()
    const reply = await put(accountId, { ...FIELDS, transcript: TRANSCRIPT, summaries: SUMMARIES })
    expect([reply.status, reply.body]).toEqual([200, { ok: true }])
    expect(await mirrorOf(api, accountId)).toEqual({
      recording: STORED,
      transcript: TRANSCRIPT,
      summaries: SUMMARIES,
    })
    expect(await eventRows(api, accountId)).toEqual([])
  })

  it('takes the fields in `recording` too, as summary-ready does', async () => {
    const { accountId } = await api.anAccount()
    await put(accountId, { recording: FIELDS })
    expect((await mirrorOf(api, accountId)).recording).toEqual(STORED)
  })

  it.each([
    ['{} leaves everything', {}, {}],
    [
      'fields replace the recording alone',
      { title: 'Two' },
      { recording: { report_id: null, status: null, title: 'Two', duration_ms: null, recorded_at: null } },
    ],
    ['recording: null deletes the recording alone', { recording: null }, { recording: null }],
    [
      'a transcript replaces the transcript alone',
      { transcript: { text: 'Hi' } },
      { transcript: { language: null, text: 'Hi', segments: null } },
    ],
    ['transcript: null deletes the transcript alone', { transcript: null }, { transcript: null }],
    [
      'fewer summaries replace all of them',
      { summaries: SUMMARIES.slice(1, 2) },
      { summaries: SUMMARIES.slice(1, 2) },
    ],
    ['an empty list of summaries deletes them', { summaries: [] }, { summaries: [] }],
    ['summaries: null deletes them', { summaries: null }, { summaries: [] }],
  ])('%s', async (_, body, change) => {
    const { accountId } = await api.anAccount()
    await put(accountId, { ...FIELDS, transcript: TRANSCRIPT, summaries: SUMMARIES })
    expect((await put(accountId, body)).status).toBe(200)
    expect(await mirrorOf(api, accountId)).toEqual({
      recording: STORED,
      transcript: TRANSCRIPT,
      summaries: SUMMARIES,
      ...change,
    })
  })

  it.each([
    [{ recorded_at: '2026-02-30T00:00:00Z' }, 'recorded_at'],
    [{ recording: { recorded_at: 'yesterday' } }, 'recording.recorded_at'],
  ])('names the member with a bad time in %j', async (body, member) => {
    const { accountId } = await api.anAccount()
    const reply = await put(accountId, body)
    const message = `${member} must be a date and time such as 2026-01-31T09:00:00Z`
    expect([reply.status, reply.body]).toEqual([400, { error: { code: 'bad_request', message } }])
  })

  it('changes nothing when one part is wrong', async () => {
    const { accountId } = await api.anAccount()
    expect((await put(accountId, { ...FIELDS, transcript: {} })).status).toBe(400)
    expect(await mirrorOf(api, accountId)).toEqual({ recording: null, transcript: null, summaries: [] })
  })

  it('takes audio ids with any characters, and refuses longer ones as unknown', async () => {
    const { accountId } = await api.anAccount()
    expect((await put(accountId, FIELDS, 'a/b?c#d %😀')).status).toBe(200)
    const { rows } = await api.db.query('select audio_id from recordings where account_id = $1', [accountId])
    expect(rows).toEqual([{ audio_id: 'a/b?c#d %😀' }])
    expect((await put(accountId, FIELDS, 'x'.repeat(129))).status).toBe(404)
    expect(
      (await api.internal('PUT', '/internal/v1/accounts/nobody/recordings/r', { body: {} })).status,
    ).toBe(404)
  })
})

describe('DELETE /internal/v1/accounts/{account_id}/recordings/{audio_id}', () => {
  it('removes the mirror rows, purges the bodies and ends what is pending', async () => {
    const { accountId, token } = await api.anAccount()
    const { id } = await createEndpoint(api, token)
    await api.internal('POST', '/internal/v1/summary-ready', { body: aNotice(accountId) })
    await api.db.query(
      `with event as (
         update webhook_events set state = 'dispatched', body = '{"secret":1}', dispatched_at = now()
         where account_id = $1 returning id)
       insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at)
       select $2, id, 'summary.completed', now() from event`,
      [accountId, id],
    )
    const reply = await api.internal('DELETE', path(accountId))
    expect([reply.status, reply.body]).toEqual([200, { ok: true }])
    expect(await mirrorOf(api, accountId)).toEqual({ recording: null, transcript: null, summaries: [] })
    expect(await eventRows(api, accountId)).toMatchObject([{ state: 'purged', body: null }])
    const log = await api.call('GET', `/v1/webhooks/${id}/deliveries`, { token })
    expect(log.body).toMatchObject({ items: [{ status: 2, last_error: 'recording_deleted' }] })
  })

  it('leaves other recordings and accounts alone, and may be repeated', async () => {
    const [mine, other] = [await api.anAccount(), await api.anAccount()]
    await put(mine.accountId, FIELDS, 'kept')
    await put(other.accountId, FIELDS)
    for (let i = 0; i < 2; i++) expect((await api.internal('DELETE', path(mine.accountId))).status).toBe(200)
    expect((await mirrorOf(api, mine.accountId)).recording).toEqual(STORED)
    expect((await mirrorOf(api, other.accountId)).recording).toEqual(STORED)
  })
})

describe('two writers of one recording at the same moment', () => {
  const two = SUMMARIES.slice(0, 2)
  it.each<[string, (accountId: string) => Promise<{ status: number }>, typeof SUMMARIES]>([
    ['a put', (accountId) => put(accountId, { summaries: two }), two],
    [
      'a notice',
      (accountId) =>
        api.internal('POST', '/internal/v1/summary-ready', {
          body: aNotice(accountId, { summaries: two }),
        }),
      two,
    ],
    ['a deletion', (accountId) => api.internal('DELETE', path(accountId)), []],
  ])('%s replaces what is being put, and nothing of it is left', async (_, write, left) => {
    const { accountId } = await api.anAccount()
    const ref = { accountId, audioId: 'rec_1001' }
    const summaries = Array.from({ length: 5 }, () => ({ label: 'x', content: 'x', format: 'html' }))
    const writing = await api.db.transaction(async (tx) => {
      await lockRecording(tx, ref)
      await putRecording(tx, { ...ref, summaries })
      const reply = write(accountId)
      await lockWaiters(api.db, 1)
      return { reply }
    })
    expect((await writing.reply).status).toBeLessThan(300)
    expect((await mirrorOf(api, accountId)).summaries).toEqual(left)
  })
})
