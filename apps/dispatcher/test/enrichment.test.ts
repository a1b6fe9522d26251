import { afterEach, beforeAll, afterAll, describe, expect, it } from '@jest/globals'
import type { Db } from '@signet/db'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import type { EventId } from '@signet/webhook-core'
import type { RecordingReader } from '@signet/webhook-core/stores'
import request from 'supertest'
import { createApp } from '../src/app.js'
import { startDispatcher, type TestDispatcher } from './support/dispatcher.js'

type Part = keyof RecordingReader

const summaries = [{ label: 'Summary', content: 'private-summary', format: 'markdown' }]
const transcript = { language: 'en', text: 'private-transcript' }

/** Reads fixed parts; those in `broken` fail with an error that quotes the data it failed on. */
function readerThatFails(broken: readonly Part[], how: () => Promise<never>): RecordingReader {
  const unless = <T>(part: Part, value: T) => (broken.includes(part) ? how() : Promise.resolve(value))
  return {
    recording: (refs) =>
      unless(
        'recording',
        refs.map(() => ({ title: 'Weekly sync' })),
      ),
    transcript: (refs) =>
      unless(
        'transcript',
        refs.map(() => transcript),
      ),
    summaries: (refs) =>
      unless(
        'summaries',
        refs.map(() => summaries),
      ),
  }
}

const quoting = () => Promise.reject(new Error('cannot read "private-transcript"'))
const isSlow = () =>
  Promise.reject(Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' }))
const isMalformed = () =>
  Promise.reject(Object.assign(new Error('invalid input syntax: "private-transcript"'), { code: '22P02' }))

describe('parts of a payload that cannot be read, in the worker', () => {
  let receiver: Receiver
  let dispatcher: TestDispatcher
  beforeAll(async () => {
    receiver = await startReceiver()
  })
  afterEach(() => dispatcher.stop())
  afterAll(() => receiver.close())

  it.each<[string, Part[], () => Promise<never>, string[], string]>([
    ['without the transcript when it fails', ['transcript'], quoting, ['title', 'summaries'], 'Error'],
    [
      'without the transcript when it takes too long',
      ['transcript'],
      isSlow,
      ['title', 'summaries'],
      'canceling statement due to statement timeout (57014)',
    ],
    [
      'without the summaries when they are malformed',
      ['summaries'],
      isMalformed,
      ['title', 'transcript'],
      'Error (22P02)',
    ],
    ['without the recording when it fails', ['recording'], quoting, ['transcript', 'summaries'], 'Error'],
    ['with the audio_id alone when all fail', ['recording', 'transcript', 'summaries'], quoting, [], 'Error'],
  ])('goes out %s, and the log says why', async (_name, broken, how, expected, reason) => {
    dispatcher = await startDispatcher({
      ports: { ca: receiver.authorityCert, reader: readerThatFails(broken, how) },
    })
    const subscriber = dispatcher.subscriber()
    const path = `/enrichment/${subscriber.accountId}`
    await subscriber.endpoint(receiver.url(path))
    await subscriber.summary({ audioId: 'rec_54', summaries })
    const { event } = await receiver.waitForDelivery({ path })
    expect(Object.keys(event?.data ?? {})).toEqual(['audio_id', ...expected])

    const { text } = await request(createApp(dispatcher)).get('/metrics')
    for (const part of broken)
      expect(text).toContain(`signet_delivery_enrichment_failures_total{part="${part}"} 1`)
    const lines = dispatcher.logLines.filter(({ msg }) => msg === 'enrichment failed')
    expect(lines.map(({ part }) => part).sort()).toEqual([...broken].sort())
    for (const line of lines) expect(line).toMatchObject({ audio_id: 'rec_54', reason })
    expect(JSON.stringify(dispatcher.logLines)).not.toContain('private-')
  })

  it('goes out without a transcript that PostgreSQL cannot give in time, and nothing goes on reading it', async () => {
    dispatcher = await startDispatcher({ ports: { ca: receiver.authorityCert } })
    const { db, queues } = dispatcher
    const subscriber = dispatcher.subscriber()
    const path = `/enrichment/${subscriber.accountId}`
    await subscriber.endpoint(receiver.url(path))
    const ids: EventId[] = []
    for (let i = 0; i < 12; i += 1) ids.push(await subscriber.withoutQueues().summary({ transcript }))
    await db.transaction(async (tx) => {
      await tx.query('lock table transcripts in access exclusive mode')
      await queues.addEvents(ids.map((id) => ({ id, accountId: subscriber.accountId })))
      await waitFor(() => receiver.deliveries({ path }).length === 12)
      for (const { event } of receiver.deliveries({ path }))
        expect(Object.keys(event?.data ?? {})).toEqual(['audio_id', 'title', 'summaries'])
      await waitFor(async () => (await readers(db)) === 0)
    })
  })
})

/** Counts the statements that are reading transcripts. */
async function readers(db: Db): Promise<number> {
  const { rows } = await db.query(
    `select from pg_stat_activity where datname = current_database() and state = 'active'
       and query like '%join transcripts%' and pid <> pg_backend_pid()`,
  )
  return rows.length
}
