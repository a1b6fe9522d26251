import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import type { TestDatabase } from '@signet/testkit'
import { newEventId, type EventId } from '@signet/webhook-core'
import { queueSummary, queuePing, type TestSummary } from '@signet/webhook-testkit'
import { insertEndpoint, recordingReader, type RecordingReader } from '@signet/webhook-core/stores'
import { findEvents } from '../src/events/event-store.js'
import { BodyBuilder, type PayloadProblem } from '../src/bodies/body-builder.js'
import { MarkdownConverter } from '../src/bodies/markdown-converter.js'
import { webhooksDatabase } from '@signet/webhook-testkit'

const NOW = new Date('2030-01-01T10:00:00.000Z')
const markdown = new MarkdownConverter()
let testDatabase: TestDatabase
let database: { db: Db }
beforeAll(async () => {
  testDatabase = await webhooksDatabase()
  database = { db: new Db({ connectionString: testDatabase.url }) }
})
afterAll(async () => {
  await markdown.close()
  await database.db.close()
  await testDatabase.drop()
})

const anAccount = () => randomUUID()

const aSummary = (given: Partial<TestSummary> & { accountId: string }): TestSummary => ({
  eventId: newEventId(new Date()),
  audioId: 'rec_1001',
  source: 'pipeline',
  sourceEventKey: randomUUID(),
  sourceHash: createHash('sha256').digest(),
  ...given,
})

const full = (accountId: string): TestSummary =>
  aSummary({
    accountId,
    recording: {
      reportId: 'rep_7',
      status: 3,
      title: 'Weekly – 会議',
      durationMs: 1_834_000,
      recordedAt: NOW,
    },
    transcript: {
      language: 'en',
      text: 'Hello',
      segments: [{ speaker: 'A', start: 0, end: 4.2, text: 'Hello' }],
    },
    summaries: [
      { label: 'Summary', content: '<h1>Hi</h1>', format: 'HTML', templateName: 'Default' },
      { label: 'Raw', content: '<b>as it is</b>', format: 'text' },
    ],
  })

function builder(changes: Partial<RecordingReader> = {}, enrichmentTimeoutMs?: number) {
  const problems: PayloadProblem[] = []
  const reader = { ...recordingReader(database.db), ...changes }
  const onProblem = (problem: PayloadProblem) => void problems.push(problem)
  return {
    problems,
    bodies: new BodyBuilder({ db: database.db, markdown, reader, onProblem, enrichmentTimeoutMs }),
  }
}

const fails = () => Promise.reject(new Error('no'))

async function build(bodies: BodyBuilder, ids: EventId[]): Promise<Record<string, unknown>[]> {
  const events = await findEvents(database.db, ids)
  const built = await bodies.build(ids.flatMap((id) => events.filter((event) => event.id === id)))
  return built.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
}

async function dataOf(bodies: BodyBuilder, summary: TestSummary): Promise<Record<string, unknown>> {
  await queueSummary(database.db, summary)
  const [body] = await build(bodies, [summary.eventId])
  return body?.data as Record<string, unknown>
}

describe('BodyBuilder', () => {
  it('builds the documented payload, members in the documented order', async () => {
    const summary = full(anAccount())
    await queueSummary(database.db, summary)
    const [event] = await findEvents(database.db, [summary.eventId])
    if (!event) throw new Error('an event')
    const { bodies, problems } = builder()
    expect(await bodies.build([event])).toEqual([
      {
        id: summary.eventId,
        body:
          `{"id":"${summary.eventId}","type":"summary.completed","created_at":"${event.createdAt.toISOString()}",` +
          '"data":{"audio_id":"rec_1001","report_id":"rep_7","status":3,"title":"Weekly – 会議",' +
          '"duration_ms":1834000,"recorded_at":"2030-01-01T10:00:00.000Z",' +
          '"transcript":{"language":"en","text":"Hello","truncated":false,' +
          '"segments":[{"speaker":"A","start":0,"end":4.2,"text":"Hello"}]},' +
          '"summaries":[{"label":"Summary","content":"# Hi","format":"markdown","template_name":"Default"},' +
          '{"label":"Raw","content":"<b>as it is</b>","format":"text"}]}}',
      },
    ])
    expect(problems).toEqual([])
  })

  it('has audio_id and nothing else when nothing else is known', async () => {
    expect(await dataOf(builder().bodies, aSummary({ accountId: anAccount() }))).toEqual({
      audio_id: 'rec_1001',
    })
  })

  it.each([
    ['recording', ['transcript', 'summaries'], ['title', 'report_id']],
    ['transcript', ['title', 'summaries'], ['transcript']],
    ['summaries', ['title', 'transcript'], ['summaries']],
  ] as const)('sends the rest when the query of the %s fails', async (part, kept, lost) => {
    const { bodies, problems } = builder({ [part]: fails })
    const data = await dataOf(bodies, full(anAccount()))
    for (const name of kept) expect(data).toHaveProperty(name)
    for (const name of lost) expect(data).not.toHaveProperty(name)
    expect(problems).toMatchObject([{ part, ref: { audioId: 'rec_1001' } }])
  })

  it('sends audio_id alone when every query fails or hangs', async () => {
    const hangs = () => new Promise<never>(() => undefined)
    const { bodies, problems } = builder({ recording: fails, transcript: hangs, summaries: hangs }, 30)
    expect(await dataOf(bodies, full(anAccount()))).toEqual({ audio_id: 'rec_1001' })
    expect(problems.map(({ part }) => part).sort()).toEqual(['recording', 'summaries', 'transcript'])
  })

  it('lets one unreadable recording cost no other event its part', async () => {
    const { db } = database
    const summaries = [full(anAccount()), full(anAccount()), full(anAccount())]
    for (const summary of summaries) await queueSummary(db, summary)
    const bad = summaries[1]?.accountId
    const { bodies, problems } = builder({
      transcript: (refs, signal) =>
        refs.some(({ accountId }) => accountId === bad)
          ? fails()
          : recordingReader(db).transcript(refs, signal),
    })
    const built = await build(
      bodies,
      summaries.map(({ eventId }) => eventId),
    )
    expect(built.map(({ data }) => 'transcript' in (data as object))).toEqual([true, false, true])
    expect(problems).toHaveLength(1)
  })

  it('leaves content and format of HTML that cannot be converted as they are', async () => {
    const content = '<script>only</script>'
    const { bodies, problems } = builder()
    const summary = aSummary({ accountId: anAccount(), summaries: [{ label: 'a', content, format: 'html' }] })
    expect(await dataOf(bodies, summary)).toMatchObject({ summaries: [{ content, format: 'html' }] })
    expect(problems).toEqual([expect.objectContaining({ part: 'markdown', error: 'empty' })])
  })

  it('builds pings among other events, each in its place', async () => {
    const { db } = database
    const endpoint = await db.transaction((tx) =>
      insertEndpoint(tx, {
        accountId: anAccount(),
        url: 'https://example.com/hook',
        href: 'https://example.com/hook',
        events: [],
        maxPerAccount: 1,
        seal: () => ({ keyId: 'k1', ciphertext: Buffer.from('sealed') }),
      }),
    )
    if (!endpoint) throw new Error('an endpoint')
    const summary = full(endpoint.accountId)
    const eventId = newEventId(NOW)
    await queueSummary(db, summary)
    await queuePing(db, { eventId, accountId: endpoint.accountId, endpointId: endpoint.id })
    const built = await build(builder().bodies, [eventId, summary.eventId, eventId])
    expect(built.map(({ type }) => type)).toEqual(['webhook.ping', 'summary.completed', 'webhook.ping'])
    expect(built[0]).toMatchObject({
      id: eventId,
      data: { endpoint_id: endpoint.id, message: 'This is a test event.' },
    })
  })
})
