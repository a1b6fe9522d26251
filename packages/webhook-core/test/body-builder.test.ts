import { afterAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import {
  BodyBuilder,
  findEvents,
  ingestSummary,
  insertPing,
  MarkdownConverter,
  newEventId,
  putRecording,
  recordingSamples,
  type EventId,
  type IngestedSummary,
  type PayloadProblem,
} from '../src/index.js'
import { mirrorReader, type MirrorReader } from '../src/payload/mirror-reader.js'
import { useDatabase } from './support/database.js'
import { anAccount, anEndpoint, aSummary, NOW } from './support/fixtures.js'

const database = useDatabase()
const markdown = new MarkdownConverter()
afterAll(() => markdown.close())

const full = (accountId: string): IngestedSummary =>
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

function builder(changes: Partial<MirrorReader> = {}, enrichmentTimeoutMs?: number) {
  const problems: PayloadProblem[] = []
  const reader = { ...mirrorReader(database.db), ...changes }
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

async function dataOf(bodies: BodyBuilder, summary: IngestedSummary): Promise<Record<string, unknown>> {
  await ingestSummary(database.db, summary)
  const [body] = await build(bodies, [summary.eventId])
  return body?.data as Record<string, unknown>
}

describe('BodyBuilder', () => {
  it('builds the documented payload, members in the documented order', async () => {
    const summary = full(anAccount())
    await ingestSummary(database.db, summary)
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
    for (const summary of summaries) await ingestSummary(db, summary)
    const bad = summaries[1]?.accountId
    const { bodies, problems } = builder({
      transcript: (refs, signal) =>
        refs.some(({ accountId }) => accountId === bad) ? fails() : mirrorReader(db).transcript(refs, signal),
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
    const endpoint = await anEndpoint(db)
    const summary = full(endpoint.accountId)
    const eventId = newEventId(NOW)
    await ingestSummary(db, summary)
    await insertPing(db, { eventId, accountId: endpoint.accountId, endpointId: endpoint.id })
    const built = await build(builder().bodies, [eventId, summary.eventId, eventId])
    expect(built.map(({ type }) => type)).toEqual(['webhook.ping', 'summary.completed', 'webhook.ping'])
    expect(built[0]).toMatchObject({
      id: eventId,
      data: { endpoint_id: endpoint.id, message: 'This is a test event.' },
    })
  })
})

describe('a part that takes longer than its limit', () => {
  const statements = async (about: string) => {
    const { rows } = await database.db.query(
      `select from pg_stat_activity where datname = current_database() and state = 'active'
         and query like '%' || $1 || '%' and pid <> pg_backend_pid()`,
      [about],
    )
    return rows.length
  }

  it('is left out of samples, and its statement ends', async () => {
    const { db } = database
    const accountId = anAccount()
    const parts = { recording: { title: 'x' }, transcript: { text: 'x' } }
    const summaries = [{ label: 'a', content: 'x', format: 'markdown' }]
    await putRecording(db, { accountId, audioId: 'rec_1', ...parts, summaries })
    await db.transaction(async (tx) => {
      await tx.query('lock table transcripts in access exclusive mode')
      const [sample = ''] = await recordingSamples(db, accountId, 1, NOW)
      expect(JSON.parse(sample)).toMatchObject({ data: { title: 'x', summaries } })
      expect(sample).not.toContain('transcript')
      await waitFor(async () => (await statements('join transcripts')) === 0, { timeoutMs: 5000 })
    })
  })
})

describe('recordingSamples', () => {
  it('are made from the newest recordings with summaries of this account, HTML left as it is', async () => {
    const { db } = database
    const accountId = anAccount()
    const summaries = [{ label: 'a', content: '<b>x</b>', format: 'html' }]
    for (const audioId of ['old', 'new'])
      await putRecording(db, { accountId, audioId, recording: { title: audioId }, summaries })
    await putRecording(db, { accountId, audioId: 'bare', recording: { title: 'no summaries' } })
    await putRecording(db, { accountId: anAccount(), audioId: 'foreign', summaries })
    const samples = (await recordingSamples(db, accountId, 10, NOW)).map(
      (json) => JSON.parse(json) as { id: string; created_at: string; data: object },
    )
    expect(samples.map(({ id, created_at }) => [id, created_at])).toEqual([
      ['evt_sample_new', NOW.toISOString()],
      ['evt_sample_old', NOW.toISOString()],
    ])
    expect(samples[0]?.data).toMatchObject({ audio_id: 'new', title: 'new', summaries })
    expect(await recordingSamples(db, accountId, 1, NOW)).toHaveLength(1)
    expect(await recordingSamples(db, anAccount(), 10, NOW)).toEqual([])
  })
})
