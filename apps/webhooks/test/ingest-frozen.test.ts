import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { definitionOf, newEventId, type EventHeader } from '@signet/webhook-core'
import { ENRICHMENT_TIMEOUT_MS, readRecordings, recordingReader } from '@signet/webhook-core/stores'
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

/** The body that a dispatcher would build from what is stored. */
async function fromTheMirror(accountId: string): Promise<string> {
  const { rows } = await api.db.query<EventHeader & { audioId: string }>(
    `select id, created_at as "createdAt", audio_id as "audioId" from webhook_events where account_id = $1`,
    [accountId],
  )
  const [event] = rows
  if (!event) throw new Error('no event')
  const ref = { accountId, audioId: event.audioId }
  const [content] = await readRecordings([ref], {
    reader: recordingReader(api.db),
    timeoutMs: ENRICHMENT_TIMEOUT_MS,
    onFailure: (_part, _ref, error) => {
      throw error
    },
  })
  const definition = definitionOf('summary.completed')
  if (!content || definition.subject !== 'recording') throw new Error('no recording')
  return definition.build(event, { ...ref, ...content })
}

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
    const text = fc.string({ unit: 'binary', maxLength: 20 }).map((any) => `${any}\0\ud800`.slice(0, 22))
    const nullable = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
    const seconds = fc.double({ noNaN: true, noDefaultInfinity: true })
    const segment = fc.record({ text, end: seconds, start: seconds, speaker: text, more: text })
    const parts = fc.record({
      recording: nullable(
        fc.record({
          report_id: nullable(text),
          status: nullable(fc.integer()),
          title: nullable(text),
          duration_ms: nullable(fc.maxSafeNat()),
          recorded_at: nullable(fc.constantFrom('2026-01-01T10:00:00.123456+01:00', '0099-01-01T00:00:00Z')),
        }),
      ),
      transcript: nullable(
        fc.record({ language: nullable(text), text, segments: nullable(fc.array(segment)) }),
      ),
      summaries: nullable(
        fc.array(fc.record({ label: text, content: text, format: text, template_name: nullable(text) })),
      ),
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
})
