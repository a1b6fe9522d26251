import { describe, expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import {
  anAccount,
  anEndpoint,
  aSummary,
  NOW,
  findRecordings,
  findSummaries,
  findTranscripts,
} from '@signet/webhook-testkit'
import { newEventId } from '@signet/webhook-core'
import { insertPing } from '../src/events/ping-store.js'
import { recordingParts } from '../src/ingest/recording-parts.js'
import { findRecentBodies } from '../src/samples/sample-store.js'
import { ingestSummary, putRecording } from './support/recordings.js'

const database = useWebhooksDatabase()
const eventsOf = async (accountId: string) => {
  const { rows } = await database.db.query<{ id: string }>(
    `select id from webhook_events where account_id = $1`,
    [accountId],
  )
  return rows.map(({ id }) => id)
}

describe('ingestSummary', () => {
  it('creates one event for many simultaneous calls with one key', async () => {
    const { db } = database
    const accountId = anAccount()
    const call = () => ingestSummary(db, aSummary({ accountId, sourceEventKey: `same:${accountId}` }))
    const results = await Promise.all(Array.from({ length: 20 }, call))
    expect(results.filter(({ kind }) => kind === 'created')).toHaveLength(1)
    expect(results.filter(({ kind }) => kind === 'duplicate')).toHaveLength(19)
    const [id] = await eventsOf(accountId)
    expect(new Set(results.map((result) => 'eventId' in result && result.eventId))).toEqual(new Set([id]))
  })

  it('refuses other content under the same key and changes nothing', async () => {
    const { db } = database
    const accountId = anAccount()
    const first = aSummary({ accountId, recording: { title: 'first' } })
    await ingestSummary(db, first)
    const second = { ...first, sourceHash: Buffer.alloc(32, 1), recording: { title: 'second' } }
    expect(await ingestSummary(db, second)).toEqual({ kind: 'conflict' })
    expect(await findRecordings(db, [first])).toMatchObject([{ title: 'first' }])
    expect(await eventsOf(accountId)).toHaveLength(1)
  })

  it('keeps keys of different callers apart', async () => {
    const { db } = database
    const accountId = anAccount()
    const first = aSummary({ accountId, sourceEventKey: `k:${accountId}` })
    await ingestSummary(db, first)
    const other = aSummary({ accountId, sourceEventKey: `k:${accountId}`, source: 'importer' })
    expect(await ingestSummary(db, other)).toMatchObject({ kind: 'created' })
  })

  it('stores the event and the recording together or not at all', async () => {
    const { db } = database
    const accountId = anAccount()
    const bad = aSummary({ accountId, recording: { durationMs: -1 } })
    await expect(ingestSummary(db, bad)).rejects.toMatchObject({ code: '23514' })
    expect(await eventsOf(accountId)).toEqual([])
  })
})

describe('the mirror', () => {
  it('leaves parts that are not given, replaces those that are, deletes those that are null', async () => {
    const { db } = database
    const ref = { accountId: anAccount(), audioId: 'rec_1' }
    const segments = [{ speaker: 'A', start: 0, end: 4.2, text: 'hi' }]
    await putRecording(db, {
      ...ref,
      recording: { reportId: 'rep_7', status: 3, title: 'Weekly', durationMs: 1_834_000, recordedAt: NOW },
      transcript: { language: 'en', text: 'hi', segments },
      summaries: [
        { label: 'Summary', content: '<h1>x</h1>', format: 'html', templateName: 'Default' },
        { label: 'Actions', content: 'y', format: 'markdown' },
      ],
    })
    await putRecording(db, { ...ref, summaries: [{ label: 'Only', content: 'z', format: 'markdown' }] })
    expect(await findRecordings(db, [ref])).toEqual([
      { reportId: 'rep_7', status: 3, title: 'Weekly', durationMs: 1_834_000, recordedAt: NOW },
    ])
    expect(await findTranscripts(db, [ref])).toEqual([{ language: 'en', text: 'hi', segments }])
    expect(await findSummaries(db, [ref])).toEqual([
      [{ label: 'Only', content: 'z', format: 'markdown', templateName: undefined }],
    ])

    await putRecording(db, { ...ref, recording: { title: 'Bare' }, transcript: null, summaries: null })
    expect(await findRecordings(db, [ref])).toEqual([{ title: 'Bare' }])
    expect(await findTranscripts(db, [ref])).toEqual([null])
    expect(await findSummaries(db, [ref])).toEqual([[]])
  })

  it('returns several recordings in the order requested, including missing ones', async () => {
    const { db } = database
    const accountId = anAccount()
    for (const audioId of ['a', 'b'])
      await putRecording(db, { accountId, audioId, recording: { title: audioId } })
    const refs = ['b', 'missing', 'a'].map((audioId) => ({ accountId, audioId }))
    expect(await findRecordings(db, [...refs, { accountId: anAccount(), audioId: 'a' }])).toEqual([
      expect.objectContaining({ title: 'b' }),
      null,
      expect.objectContaining({ title: 'a' }),
      null,
    ])
  })

  it('replaces what neither PostgreSQL nor UTF-8 can hold', async () => {
    const { db } = database
    const ref = { accountId: anAccount(), audioId: 'rec_1' }
    const bad = 'a\0b\ud800c😀'
    await putRecording(db, {
      ...ref,
      ...recordingParts({
        recording: { title: bad },
        transcript: { text: bad, segments: [{ speaker: bad, start: 0, end: 1, text: bad }] },
        summaries: [{ label: bad, content: bad, format: 'markdown' }],
      }),
    })
    const good = 'a\ufffdb\ufffdc😀'
    expect(await findRecordings(db, [ref])).toMatchObject([{ title: good }])
    expect(await findTranscripts(db, [ref])).toMatchObject([
      { text: good, segments: [{ speaker: good, text: good }] },
    ])
    expect(await findSummaries(db, [ref])).toMatchObject([[{ label: good, content: good }]])
  })

  it('reads of a huge transcript only what a payload could hold', async () => {
    const { db } = database
    const ref = { accountId: anAccount(), audioId: 'rec_1' }
    const text = 'x'.repeat(2_000_000)
    await putRecording(db, {
      ...ref,
      transcript: { text, segments: [{ speaker: 'A', start: 0, end: 1, text }] },
    })
    const [transcript] = await findTranscripts(db, [ref])
    expect(transcript?.text).toHaveLength(1_048_577)
    expect(transcript?.segments).toBeUndefined()
  })
})

describe('insertPing', () => {
  it('queues one event for the one endpoint, which samples leave out', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db, { events: [] })
    const ping = { eventId: newEventId(NOW), accountId: endpoint.accountId, endpointId: endpoint.id }
    expect(await insertPing(db, ping)).toBe('queued')
    const { rows } = await db.query(
      `select id, type, state, target_endpoint_id as target from webhook_events where account_id = $1`,
      [endpoint.accountId],
    )
    expect(rows).toEqual([{ id: ping.eventId, type: 'webhook.ping', state: 'queued', target: endpoint.id }])
    await db.query(
      `update webhook_events set state = 'dispatched', body = '{}', dispatched_at = now() where id = $1`,
      [ping.eventId],
    )
    expect(await findRecentBodies(db, endpoint.accountId, 'webhook.ping', { limit: 10 })).toEqual([])
  })

  it('are not stored for a disabled endpoint, and not known for a foreign one', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const eventId = newEventId(NOW)
    expect(await insertPing(db, { eventId, accountId: anAccount(), endpointId: endpoint.id })).toBeNull()
    await db.query(`update webhook_endpoints set status = 2, disabled_at = now() where id = $1`, [
      endpoint.id,
    ])
    const ping = { eventId, accountId: endpoint.accountId, endpointId: endpoint.id }
    expect(await insertPing(db, ping)).toBe('disabled')
    expect(await eventsOf(endpoint.accountId)).toEqual([])
  })
})
