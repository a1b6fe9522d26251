import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import type { TestDatabase } from '@signet/testkit'
import { newEventId, type EventId } from '@signet/webhook-core'
import { queueSummary, queuePing, type TestSummary } from '@signet/webhook-testkit'
import { insertEndpoint, recordingReader, type RecordingReader } from '@signet/webhook-core/stores'
import { dispatchEvents } from '../src/dispatching/dispatch-store.js'
import { MarkdownConverter } from '../src/markdown/markdown-converter.js'
import { ConversionScheduler } from '../src/preparing/conversion-scheduler.js'
import { PartsReader, type PartProblem, type PartsReaderDeps } from '../src/preparing/parts-reader.js'
import { Preparation } from '../src/preparing/preparation.js'
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

/** Prepares events, and collects the problems. */
function preparing(
  changes: Partial<RecordingReader> = {},
  { events = database.db }: { events?: PartsReaderDeps['events'] } = {},
) {
  const problems: PartProblem[] = []
  const preparation = new Preparation({
    parts: new PartsReader({
      db: database.db,
      events,
      reader: { ...recordingReader(database.db), ...changes },
      retryWhileUnavailable: (work) => work(),
      onProblem: (problem) => problems.push(problem),
    }),
    conversions: new ConversionScheduler({
      jobs: 300,
      convert: (html, cpuLimitMs) => markdown.convert(html, cpuLimitMs),
    }),
  })
  return { problems, preparation }
}

const fails = () => Promise.reject(new Error('no'))
const UNREADABLE = { recording: fails, transcript: fails, summaries: fails }

/** Stores an event with parts of its notice, as the API does. */
async function withGiven(
  given: { transcript?: object | null; summaries?: object[] },
  summary = aSummary({ accountId: anAccount() }),
): Promise<TestSummary> {
  const json = (part: unknown) => (part === undefined ? null : JSON.stringify(part))
  await queueSummary(database.db, summary)
  await database.db.query(
    'update webhook_queued_events set given_transcript = $2, given_summaries = $3 where event_id = $1',
    [summary.eventId, json(given.transcript), json(given.summaries)],
  )
  return summary
}

async function queued({ eventId }: TestSummary) {
  const { unprepared } = await dispatchEvents(database.db, [{ id: eventId }], NOW)
  const [event] = unprepared
  if (!event) throw new Error('it has a body')
  return event
}

/** Prepares these events at the same time, and returns their bodies. */
async function prepare(preparation: Preparation, ids: EventId[]) {
  const { unprepared } = await dispatchEvents(
    database.db,
    ids.map((id) => ({ id })),
    NOW,
  )
  const prepared = await Promise.all(
    ids.flatMap((id) =>
      unprepared
        .filter((event) => event.id === id)
        .map((event) => preparation.run(event, {}, (body) => Promise.resolve(body))),
    ),
  )
  return prepared.map((one) => {
    if ('deferMs' in one) throw new Error('deferred')
    return { text: one.body.toString(), unconverted: one.unconverted }
  })
}

async function bodiesOf(preparation: Preparation, ids: EventId[]): Promise<Record<string, unknown>[]> {
  const prepared = await prepare(preparation, ids)
  return prepared.map(({ text }) => JSON.parse(text) as Record<string, unknown>)
}

async function dataOf(preparation: Preparation, summary: TestSummary): Promise<Record<string, unknown>> {
  await queueSummary(database.db, summary)
  const [body] = await bodiesOf(preparation, [summary.eventId])
  return body?.data as Record<string, unknown>
}

const LARGE = [{ label: 'Summary', content: 'x'.repeat(2 ** 20), format: 'markdown' }]

/** Refuses to reserve room for the event, and returns the sizes that the preparation asked for. */
async function roomFor(summary: TestSummary): Promise<number[]> {
  const { preparation } = preparing(UNREADABLE, { events: { query: fails, ping: fails } })
  const sizes: number[] = []
  const reserve = (bytes: number) => {
    sizes.push(bytes)
    return { deferMs: 700 }
  }
  const use = () => Promise.reject(new Error('prepared'))
  const outcome = await preparation.run(await queued(summary), { reserve }, use)
  expect(outcome).toEqual({ deferMs: 700, reason: 'account_full' })
  return sizes
}

describe('Preparation', () => {
  it('reads nothing of a recording that is too large for the room that there is', async () => {
    const event = aSummary({ accountId: anAccount(), summaries: LARGE })
    await queueSummary(database.db, event)
    expect(await roomFor(event)).toEqual([2 ** 20])
  })

  it('reads nothing of a notice that is too large for the room that there is, however small its recording is by now', async () => {
    const event = await withGiven({ summaries: LARGE })
    expect(await roomFor(event)).toEqual([JSON.stringify(LARGE).length])
  })

  it('measures the recording for a notice that left out the summaries', async () => {
    const event = aSummary({ accountId: anAccount(), summaries: LARGE })
    await withGiven({ transcript: null }, event)
    expect(await roomFor(event)).toEqual([2 ** 20])
  })

  it('sends all of what came with a notice when nothing of the recording can be read', async () => {
    const [summary] = full(anAccount()).summaries ?? []
    const event = await withGiven({ transcript: { text: 'given' }, summaries: [summary ?? {}] })
    const { preparation, problems } = preparing(UNREADABLE)
    const [body] = await bodiesOf(preparation, [event.eventId])
    expect(body?.data).toEqual({
      audio_id: 'rec_1001',
      transcript: { text: 'given', truncated: false },
      summaries: [{ label: 'Summary', content: '# Hi', format: 'markdown' }],
    })
    expect(problems.map(({ part }) => part)).toEqual(['recording'])
  })

  it('fails, so that the event is tried again, when what came with a notice cannot be read', async () => {
    const event = await queued(await withGiven({ transcript: null }))
    const { preparation } = preparing({}, { events: { query: fails, ping: fails } })
    const use = () => Promise.reject(new Error('prepared'))
    await expect(preparation.run(event, {}, use)).rejects.toThrow('no')
  })

  it('builds the documented payload, members in the documented order', async () => {
    const summary = full(anAccount())
    await queueSummary(database.db, summary)
    const { unprepared } = await dispatchEvents(database.db, [{ id: summary.eventId }], NOW)
    const { preparation, problems } = preparing()
    expect(await prepare(preparation, [summary.eventId])).toEqual([
      {
        unconverted: null,
        text:
          `{"id":"${summary.eventId}","type":"summary.completed","created_at":"${unprepared[0]?.createdAt.toISOString()}",` +
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
    expect(await dataOf(preparing().preparation, aSummary({ accountId: anAccount() }))).toEqual({
      audio_id: 'rec_1001',
    })
  })

  it.each([
    ['recording', ['transcript', 'summaries'], ['title', 'report_id']],
    ['transcript', ['title', 'summaries'], ['transcript']],
    ['summaries', ['title', 'transcript'], ['summaries']],
  ] as const)('sends the rest when the query of the %s fails', async (part, kept, lost) => {
    const { preparation, problems } = preparing({ [part]: fails })
    const data = await dataOf(preparation, full(anAccount()))
    for (const name of kept) expect(data).toHaveProperty(name)
    for (const name of lost) expect(data).not.toHaveProperty(name)
    expect(problems).toMatchObject([{ part, ref: { audioId: 'rec_1001' } }])
  })

  it('sends audio_id alone when every query fails or takes too long', async () => {
    const hurried = new Db({ connectionString: testDatabase.url, statementTimeoutMs: 30 })
    const isSlow = () => hurried.query('select pg_sleep(60)').then(() => [])
    const { preparation, problems } = preparing({ recording: fails, transcript: isSlow, summaries: isSlow })
    expect(await dataOf(preparation, full(anAccount()))).toEqual({ audio_id: 'rec_1001' })
    expect(problems.map(({ part }) => part).sort()).toEqual(['recording', 'summaries', 'transcript'])
    await hurried.close()
  })

  it('lets one unreadable recording cost no other event its part', async () => {
    const { db } = database
    const summaries = [full(anAccount()), full(anAccount()), full(anAccount())]
    for (const summary of summaries) await queueSummary(db, summary)
    const bad = summaries[1]?.accountId
    const { preparation, problems } = preparing({
      transcript: (refs) =>
        refs.some(({ accountId }) => accountId === bad) ? fails() : recordingReader(db).transcript(refs),
    })
    const built = await bodiesOf(
      preparation,
      summaries.map(({ eventId }) => eventId),
    )
    expect(built.map(({ data }) => 'transcript' in (data as object))).toEqual([true, false, true])
    expect(problems).toHaveLength(1)
  })

  it('leaves content and format of HTML that cannot be converted as they are', async () => {
    const content = '<script>only</script>'
    const summary = aSummary({ accountId: anAccount(), summaries: [{ label: 'a', content, format: 'html' }] })
    await queueSummary(database.db, summary)
    const [prepared] = await prepare(preparing().preparation, [summary.eventId])
    expect(JSON.parse(prepared?.text ?? '')).toMatchObject({
      data: { summaries: [{ content, format: 'html' }] },
    })
    expect(prepared?.unconverted).toBe('empty')
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
    const built = await bodiesOf(preparing().preparation, [eventId, summary.eventId, eventId])
    expect(built.map(({ type }) => type)).toEqual(['webhook.ping', 'summary.completed', 'webhook.ping'])
    expect(built[0]).toMatchObject({
      id: eventId,
      data: { endpoint_id: endpoint.id, message: 'This is a test event.' },
    })
  })
})
