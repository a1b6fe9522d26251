import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  definitionOf,
  newEventId,
  PAYLOAD_TARGET_BYTES,
  type EventHeader,
  type EventId,
} from '@signet/webhook-core'
import { findGivenParts, readRecordings, recordingReader } from '@signet/webhook-core/stores'
import { aNotice, eventRows } from './support/api-data.js'
import { useApi } from './support/api.js'

const api = useApi()

const MARKDOWN = [{ label: 'Summary', content: '# Hi', format: 'markdown', template_name: 'Default' }]
const ingest = (body: unknown) => api.internal('POST', '/internal/v1/summary-ready', { body })
const frozen = async (accountId: string) => {
  const [event] = await eventRows(api, accountId)
  expect(event?.state).toBe('queued')
  return event?.body ?? null
}

async function eventOf(accountId: string) {
  const { rows } = await api.db.query<EventHeader & { id: EventId; audioId: string }>(
    `select id, created_at as "createdAt", audio_id as "audioId" from webhook_events where account_id = $1`,
    [accountId],
  )
  const [event] = rows
  if (!event) throw new Error('no event')
  return event
}

/** The parts that came with the notice of the account's event. */
async function givenTo(accountId: string) {
  const { id } = await eventOf(accountId)
  const given = (await findGivenParts(api.db, [id])).get(id)
  if (!given) throw new Error('the event is not queued')
  return given
}

/** The body that a dispatcher would build from the stored recording, except for the parts in `given`. */
async function fromTheMirror(
  accountId: string,
  given?: Awaited<ReturnType<typeof givenTo>>,
): Promise<string> {
  const event = await eventOf(accountId)
  const ref = { accountId, audioId: event.audioId }
  const [content] = await readRecordings([{ ...ref, given }], {
    reader: recordingReader(api.db),
    onFailure: (_part, _ref, error) => {
      throw error
    },
  })
  if (!content) throw new Error('no recording')
  return definitionOf('summary.completed').build(event, { ...ref, ...content })
}

const text = fc.string({ unit: 'binary', maxLength: 20 }).map((any) => `${any}\0\ud800`.slice(0, 22))
const nullable = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const seconds = fc.double({ noNaN: true, noDefaultInfinity: true })
const segment = fc.record({ text, end: seconds, start: seconds, speaker: text, more: text })
const summary = { label: text, content: text, template_name: nullable(text) }
const recording = fc.record({
  report_id: nullable(text),
  status: nullable(fc.integer()),
  title: nullable(text),
  duration_ms: nullable(fc.maxSafeNat()),
  recorded_at: nullable(fc.constantFrom('2026-01-01T10:00:00.123456+01:00', '0099-01-01T00:00:00Z')),
})
const transcript = fc.record({ language: nullable(text), text, segments: nullable(fc.array(segment)) })

describe('a notice with every part', () => {
  it('is frozen with its event, even if the recording changes later', async () => {
    const { accountId } = await api.anAccount()
    await ingest(aNotice(accountId, { summaries: MARKDOWN }))
    const body = await frozen(accountId)
    expect(body).toBe(await fromTheMirror(accountId))
    expect(JSON.parse(body ?? '')).toMatchObject({
      type: 'summary.completed',
      data: { title: 'Weekly sync', transcript: { text: 'Hello.', truncated: false } },
    })
    await api.internal('PUT', `/internal/v1/accounts/${accountId}/recordings/rec_1001`, {
      body: { title: 'Renamed', transcript: null },
    })
    expect(await frozen(accountId)).toBe(body)
  })

  it('names the time of its row, to the millisecond', async () => {
    const { accountId } = await api.anAccount()
    await ingest(aNotice(accountId, { summaries: [] }))
    const { rows } = await api.db.query<{ id: string; created_at: Date; body: string }>(
      'select id, created_at, body from webhook_events where account_id = $1',
      [accountId],
    )
    const [row] = rows
    const body = JSON.parse(row?.body ?? '') as { id: string; created_at: string }
    expect(body).toMatchObject({ id: row?.id, created_at: row?.created_at.toISOString() })
    expect(newEventId(new Date(body.created_at)).slice(0, 16)).toBe(body.id.slice(0, 16))
  })

  it('is frozen by a thread too when it is large, and within its target size', async () => {
    const { accountId } = await api.anAccount()
    const text = 'é"\n'.repeat(400_000)
    const segments = [{ speaker: 'A', start: 0, end: 1, text }]
    await ingest(aNotice(accountId, { summaries: null, transcript: { text, segments } }))
    const body = await frozen(accountId)
    expect(body).toBe(await fromTheMirror(accountId))
    expect(Buffer.byteLength(body ?? '')).toBeGreaterThan(1_048_500)
    expect(Buffer.byteLength(body ?? '')).toBeLessThanOrEqual(1_048_576)
  })

  it('equals what a dispatcher would build from the recording, for any content', async () => {
    const parts = fc.record({
      recording: nullable(recording),
      transcript: nullable(transcript),
      summaries: nullable(fc.array(fc.record({ ...summary, format: text }))),
    })
    await fc.assert(
      fc.asyncProperty(parts, async (some) => {
        const { accountId } = await api.anAccount()
        expect((await ingest(aNotice(accountId, some))).status).toBe(202)
        expect(await frozen(accountId)).toBe(await fromTheMirror(accountId))
      }),
      { numRuns: 40 },
    )
  })
})

describe('a notice that leaves something to find out', () => {
  it.each([
    ['the recording', { recording: undefined }],
    ['the transcript', { transcript: undefined }],
    ['the summaries', { summaries: undefined }],
  ])('is not frozen without %s, which may have come before', async (_, change) => {
    const { accountId } = await api.anAccount()
    await ingest(aNotice(accountId, { summaries: MARKDOWN, ...change }))
    expect(await frozen(accountId)).toBeNull()
  })

  it.each(['html', 'HTML'])('is not frozen while a summary is %s', async (format) => {
    const { accountId } = await api.anAccount()
    const html = { label: 'x', content: '<p>x</p>', format }
    await ingest(aNotice(accountId, { summaries: [...MARKDOWN, html] }))
    expect(await frozen(accountId)).toBeNull()
  })

  it('keeps what it brought for its event, the same as a dispatcher would read from the recording, for any content', async () => {
    const html = fc.record({ ...summary, format: fc.constant('html') })
    const some = fc.record({ ...summary, format: text })
    const parts = fc.oneof(
      fc.record(
        { transcript: nullable(transcript), summaries: nullable(fc.array(fc.oneof(html, some))) },
        { requiredKeys: [] },
      ),
      fc.record({ recording: nullable(recording), transcript: nullable(transcript) }, { requiredKeys: [] }),
      fc.record({
        recording: nullable(recording),
        transcript: nullable(transcript),
        summaries: fc.array(html, { minLength: 1 }),
      }),
    )
    await fc.assert(
      fc.asyncProperty(parts, async (brought) => {
        const { accountId } = await api.anAccount()
        const notice = {
          ...aNotice(accountId),
          recording: undefined,
          transcript: undefined,
          summaries: undefined,
        }
        expect((await ingest({ ...notice, ...brought })).status).toBe(202)
        expect(await frozen(accountId)).toBeNull()
        const stored = await fromTheMirror(accountId)
        await api.internal('PUT', `/internal/v1/accounts/${accountId}/recordings/rec_1001`, {
          body: { recording: null, transcript: null, summaries: null },
        })
        expect(await fromTheMirror(accountId, await givenTo(accountId))).toBe(stored)
      }),
      { numRuns: 40 },
    )
  })

  it('keeps no more of a transcript than fits into a body', async () => {
    const { accountId } = await api.anAccount()
    const long = 'é"'.repeat(PAYLOAD_TARGET_BYTES)
    const transcript = { text: long, segments: [{ speaker: 'A', start: 0, end: 1, text: long }] }
    await ingest(aNotice(accountId, { recording: undefined, transcript, summaries: null }))
    const given = await givenTo(accountId)
    expect(given.transcript?.text).toHaveLength(PAYLOAD_TARGET_BYTES + 1)
    expect(given.transcript?.segments).toBeUndefined()
    expect(await fromTheMirror(accountId, given)).toBe(await fromTheMirror(accountId))
  })
})

it('keeps the parts of each notice apart where they are written together, and none of one that is frozen', async () => {
  const accounts = await Promise.all(Array.from({ length: 12 }, () => api.anAccount()))
  const titleOf = (accountId: string) => ({ title: accountId })
  const summariesOf = (accountId: string, format: string) =>
    ['one', 'two'].map((label) => ({ label, content: accountId, format }))
  await Promise.all(
    accounts.map(({ accountId }, i) =>
      ingest(
        aNotice(accountId, {
          recording: i % 3 === 1 ? undefined : titleOf(accountId),
          transcript: null,
          summaries: summariesOf(accountId, i % 3 === 2 ? 'html' : 'markdown'),
        }),
      ),
    ),
  )
  for (const [i, { accountId }] of accounts.entries())
    expect(await givenTo(accountId)).toEqual(
      i % 3 === 0
        ? {}
        : {
            recording: i % 3 === 1 ? undefined : titleOf(accountId),
            transcript: null,
            summaries: summariesOf(accountId, i % 3 === 2 ? 'html' : 'markdown'),
          },
    )
})
