import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { startStack, waitFor, type Stack } from '@signet/testkit'
import type { Subscriber } from './support/subscriber.js'
import { startAnother, startDispatcher, type TestDispatcher } from './support/dispatcher.js'

// These tests follow a notice from HTTP to the receiver. No dispatcher runs until everything was written, as if it started late.

let receiver: Receiver
let stack: Stack
/** Never started: it only owns the database and the queues. */
let idle: TestDispatcher
beforeAll(async () => {
  receiver = await startReceiver()
  idle = await startDispatcher({ start: false })
  const { WEBHOOKS_DATABASE_URL = '', WEBHOOKS_REDIS_URL = '', WEBHOOKS_QUEUE_PREFIX = '' } = idle.env
  stack = await startStack({
    apps: ['webhooks'],
    env: { webhooks: { WEBHOOKS_DATABASE_URL, WEBHOOKS_REDIS_URL, WEBHOOKS_QUEUE_PREFIX } },
  })
})
afterAll(async () => {
  await stack.close()
  await idle.stop()
  await receiver.close()
})

async function internal(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${stack.internalUrl}/internal/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${stack.internalToken}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  })
  expect(response.status).toBeLessThan(300)
  return (await response.json()) as Record<string, unknown>
}

async function notify({ accountId }: Subscriber, parts: object): Promise<string> {
  const notice = { account_id: accountId, audio_id: 'rec_1', source_event_key: crypto.randomUUID(), ...parts }
  return String((await internal('POST', '/summary-ready', notice))['event_id'])
}
const recordingOf = ({ accountId }: Subscriber) => `/accounts/${accountId}/recordings/rec_1`
const put = (subscriber: Subscriber, parts: object) => internal('PUT', recordingOf(subscriber), parts)

async function aSubscriber(): Promise<Subscriber> {
  const subscriber = idle.subscriber()
  await subscriber.endpoint(receiver.url(`/${subscriber.accountId}`))
  return subscriber
}

/** Starts a dispatcher, and returns the `data` of the events that it delivers, by event id. */
async function dataOf({ accountId }: Subscriber, events: number): Promise<Record<string, unknown>> {
  const path = `/${accountId}`
  const dispatcher = startAnother(idle.env, { ca: receiver.authorityCert })
  try {
    await waitFor(() => receiver.deliveries({ path }).length === events)
  } finally {
    await dispatcher.stop()
  }
  return Object.fromEntries(
    receiver.deliveries({ path }).map(({ event }) => [String(event?.id), event?.data as unknown] as const),
  )
}

const text = (version: string) => ({ transcript: { text: version } })
const markdown = (version: string) => ({
  summaries: [{ label: 'Summary', content: version, format: 'markdown' }],
})
const html = (version: string) => ({
  summaries: [{ label: 'Summary', content: `<h1>${version}</h1>`, format: 'html' }],
})
const recording = (title: string) => ({ recording: { title } })
const sent = (version: string) => ({ text: version, truncated: false })

describe('the event of a notice that cannot be frozen on arrival', () => {
  it('has the parts of the notice, and only what that left out from the recording of later', async () => {
    const subscriber = await aSubscriber()
    const id = await notify(subscriber, { ...text('FIRST'), ...markdown('FIRST') })
    await put(subscriber, { ...recording('SECOND'), ...text('SECOND'), ...markdown('SECOND') })
    expect(await dataOf(subscriber, 1)).toEqual({
      [id]: { audio_id: 'rec_1', title: 'SECOND', transcript: sent('FIRST'), ...markdown('FIRST') },
    })
  })

  it('has its own HTML when another notice of the recording came before its dispatch', async () => {
    const subscriber = await aSubscriber()
    const [first, second] = [
      await notify(subscriber, { ...text('FIRST'), ...html('FIRST') }),
      await notify(subscriber, html('SECOND')),
    ]
    expect(await dataOf(subscriber, 2)).toEqual({
      [first]: { audio_id: 'rec_1', transcript: sent('FIRST'), ...markdown('# FIRST') },
      [second]: { audio_id: 'rec_1', transcript: sent('FIRST'), ...markdown('# SECOND') },
    })
  })

  it('has everything that came with it when the recording was emptied before its dispatch', async () => {
    const subscriber = await aSubscriber()
    const fields = {
      report_id: 'rep_1',
      status: 3,
      title: 'FIRST',
      duration_ms: 2 ** 40,
      recorded_at: '2026-01-01T00:00:00.123Z',
    }
    const segments = [{ speaker: 'A', start: 0, end: 1.5, text: 'FIRST' }]
    const transcript = { language: 'en', text: 'FIRST', segments }
    const [summary] = html('FIRST').summaries
    const summaries = [{ ...summary, template_name: 'Default' }]
    const id = await notify(subscriber, { recording: fields, transcript, summaries })
    await put(subscriber, { recording: null, transcript: null, summaries: null })
    expect(await dataOf(subscriber, 1)).toEqual({
      [id]: {
        audio_id: 'rec_1',
        ...fields,
        transcript: { ...transcript, truncated: false },
        summaries: [{ ...markdown('# FIRST').summaries[0], template_name: 'Default' }],
      },
    })
  })

  it.each([
    { transcript: null, summaries: null },
    { transcript: null, summaries: [] },
  ])('has no part of which the notice said that there is none: %j', async (none) => {
    const subscriber = await aSubscriber()
    await put(subscriber, { ...recording('BEFORE'), ...text('BEFORE'), ...markdown('BEFORE') })
    const id = await notify(subscriber, none)
    await put(subscriber, { ...text('LATER'), ...markdown('LATER') })
    expect(await dataOf(subscriber, 1)).toEqual({ [id]: { audio_id: 'rec_1', title: 'BEFORE' } })
  })

  it('is built from the recording if an older version stored it without the parts of its notice', async () => {
    const subscriber = await aSubscriber()
    const id = await notify(subscriber, { ...text('FIRST'), ...html('FIRST') })
    await idle.db.query(
      `update webhook_queued_events set given_recording = null, given_transcript = null, given_summaries = null
       where event_id = $1`,
      [id],
    )
    await put(subscriber, { ...text('SECOND'), ...markdown('SECOND') })
    expect(await dataOf(subscriber, 1)).toEqual({
      [id]: { audio_id: 'rec_1', transcript: sent('SECOND'), ...markdown('SECOND') },
    })
  })
})

describe('what a notice brought', () => {
  /** Sends a notice whose parts all contain the secret. */
  async function notifyOf(secret: string): Promise<Subscriber> {
    const subscriber = await aSubscriber()
    await notify(subscriber, { ...recording(secret), ...text(secret), ...html(secret) })
    return subscriber
  }

  async function tablesWith(secret: string): Promise<string[]> {
    const { rows } = await idle.db.query<{ name: string }>(
      `select table_name as name from information_schema.tables
       where table_schema = current_schema() and table_type = 'BASE TABLE' order by 1`,
    )
    const found: string[] = []
    for (const { name } of rows) {
      const { rowCount } = await idle.db.query(`select from ${name} as r where r::text like $1`, [
        `%${secret}%`,
      ])
      if (rowCount !== 0) found.push(name)
    }
    return found
  }

  it.each<[string, (subscriber: Subscriber) => Promise<unknown>]>([
    ['its recording is deleted', (subscriber) => internal('DELETE', recordingOf(subscriber))],
    [
      'its account is deleted',
      async ({ accountId }) => {
        await internal('DELETE', `/accounts/${accountId}`)
      },
    ],
    [
      'a version that does not know the parts deletes its recording',
      async ({ accountId }) => {
        for (const table of ['recordings', 'transcripts', 'summaries'])
          await idle.db.query(`delete from ${table} where account_id = $1`, [accountId])
        await idle.db.query(`update webhook_events set state = 'purged', body = null where account_id = $1`, [
          accountId,
        ])
      },
    ],
  ])('is stored nowhere anymore when %s before its dispatch', async (_, end) => {
    const secret = crypto.randomUUID()
    const subscriber = await notifyOf(secret)
    expect(await tablesWith(secret)).toEqual([
      'recordings',
      'summaries',
      'transcripts',
      'webhook_queued_events',
    ])
    await end(subscriber)
    expect(await tablesWith(secret)).toEqual([])
  })

  it('is stored in the body alone after its dispatch, apart from the recording', async () => {
    const secret = crypto.randomUUID()
    const subscriber = await notifyOf(secret)
    await dataOf(subscriber, 1)
    expect(await tablesWith(secret)).toEqual(['recordings', 'summaries', 'transcripts', 'webhook_events'])
    await internal('DELETE', recordingOf(subscriber))
    expect(await tablesWith(secret)).toEqual([])
  })
})
