import { describe, expect, it } from '@jest/globals'
import type { Tx } from '@signet/db'
import type { EventCatalogue } from '@signet/webhook-core'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import {
  behindLock,
  anAccount,
  anEndpoint,
  aSummary,
  findRecordings,
  findSummaries,
} from '@signet/webhook-testkit'
import { writeTombstone, closeAccount, purgeRecording, type RecordingRef } from '@signet/webhook-core/stores'
import type { RecordingParts } from '../src/ingest/encoded-parts.js'
import { lockRecording } from '../src/ingest/recording-store.js'
import { ingestSummary, putRecording } from './support/recordings.js'

const database = useWebhooksDatabase()

const aRecording = (): RecordingRef => ({ accountId: anAccount(), audioId: 'rec_1' })
const summaries = (writer: string, count: number): NonNullable<RecordingParts['summaries']> =>
  Array.from({ length: count }, () => ({ label: writer, content: 'x', format: 'markdown' }))
const labels = async (ref: RecordingRef) =>
  (await findSummaries(database.db, [ref]))[0]?.map(({ label }) => label)

const inTurn = <T>(ref: RecordingRef, write: (tx: Tx) => Promise<T>): Promise<T> =>
  database.db.transaction(async (tx) => {
    await lockRecording(tx, ref)
    return write(tx)
  })

/** Writes `count` summaries, and commits only once `work` waits for the lock. */
const whilePutting = <T>(ref: RecordingRef, count: number, work: () => Promise<T>): Promise<T> =>
  behindLock(
    database.db,
    async (tx) => {
      await lockRecording(tx, ref)
      await putRecording(tx, { ...ref, summaries: summaries('first', count) })
    },
    1,
    work,
  )

describe('writers of one recording', () => {
  it.each([0, 2])(
    'take turns: %d summaries replace those that were not committed yet when they came',
    async (count) => {
      const ref = aRecording()
      const second = { ...ref, summaries: summaries('second', count) }
      await whilePutting(ref, 5, () => inTurn(ref, (tx) => putRecording(tx, second)))
      expect(await labels(ref)).toEqual(Array<string>(count).fill('second'))
    },
  )

  it('take turns with the deletion of the recording, which leaves nothing of the earlier one', async () => {
    const ref = aRecording()
    await whilePutting(ref, 5, () => inTurn(ref, (tx) => purgeRecording(tx, ref)))
    expect(await labels(ref)).toEqual([])
  })

  it('do not wait for writers of other recordings', async () => {
    const [one, other] = [aRecording(), aRecording()]
    await inTurn(one, async (tx) => {
      await putRecording(tx, { ...one, recording: { title: 'one' } })
      await inTurn(other, (tx) => putRecording(tx, { ...other, recording: { title: 'other' } }))
    })
    expect(await findRecordings(database.db, [one, other])).toMatchObject([
      { title: 'one' },
      { title: 'other' },
    ])
  })

  it('leave what one of them wrote, and never end in a deadlock, however many there are', async () => {
    const ref = aRecording()
    const sizeOf = (writer: number) => 1 + (writer % 7)
    const write = (writer: number) =>
      inTurn(ref, async (tx) => {
        const parts = { summaries: summaries(String(writer), sizeOf(writer)), transcript: { text: 'x' } }
        if (writer % 10 === 0) await purgeRecording(tx, ref)
        else if (writer % 2 === 0) await putRecording(tx, { ...ref, ...parts })
        else await ingestSummary(tx, aSummary({ ...ref, ...parts }))
      })
    await Promise.all(Array.from({ length: 100 }, (_, writer) => write(writer)))
    await write(3)
    expect(await labels(ref)).toEqual(['3', '3', '3', '3'])
    await Promise.all(Array.from({ length: 100 }, (_, writer) => write(writer)))
    const left = (await labels(ref)) ?? []
    expect(left).toEqual(left[0] === undefined ? [] : Array<string>(sizeOf(Number(left[0]))).fill(left[0]))
  })
})

describe('an event whose type outlives its recording', () => {
  const withDeleted: EventCatalogue = {
    'recording.deleted': {
      sentWhen: { en: 'a recording was deleted', de: 'eine Aufnahme gelöscht wurde' },
      properties: {},
      required: [],
      sample: {},
      subject: 'recording',
      endsWithRecording: false,
      build: ({ id }, { audioId }) => JSON.stringify({ id, deleted: audioId }),
    },
  }

  it('is still delivered after the deletion that ends all others', async () => {
    const { db } = database
    const { id, accountId } = await anEndpoint(db)
    await db.query(
      `with event as (
         insert into webhook_events (id, account_id, type, audio_id, source, state, body, dispatched_at)
         select 'evt_' || md5($2 || type), $2::uuid, type, 'rec_1', 'test', 'dispatched', '{}', now()
         from unnest(array['summary.completed', 'recording.deleted']) as type returning id, type
       )
       insert into webhook_deliveries (endpoint_id, event_id, event_type, next_attempt_at)
       select $1, id, type, now() from event`,
      [id, accountId],
    )
    const purge = () => purgeRecording(db, { accountId, audioId: 'rec_1' }, withDeleted)
    expect(await purge()).toEqual({ purgedEvents: 1, cancelledDeliveries: 1 })
    expect(await purge()).toEqual({ purgedEvents: 0, cancelledDeliveries: 0 })
    const { rows } = await db.query(
      `select d.event_type, d.status, v.state, v.body
       from webhook_deliveries d join webhook_events v on v.id = d.event_id where d.endpoint_id = $1 order by 1`,
      [id],
    )
    expect(rows).toEqual([
      { event_type: 'recording.deleted', status: 0, state: 'dispatched', body: '{}' },
      { event_type: 'summary.completed', status: 2, state: 'purged', body: null },
    ])
  })
})

describe('a body that was frozen before its event was dispatched', () => {
  it.each<[string, (ref: RecordingRef) => Promise<unknown>]>([
    ['the recording', (ref) => inTurn(ref, (tx) => purgeRecording(tx, ref))],
    [
      'the account',
      async ({ accountId }) => {
        await database.db.transaction((tx) => writeTombstone(tx, accountId, new Date()))
        await closeAccount(database.db, accountId)
      },
    ],
  ])('goes with %s', async (_, remove) => {
    const ref = aRecording()
    const event = aSummary(ref)
    await ingestSummary(database.db, event)
    await database.db.query(`update webhook_events set body = '{"secret":1}' where id = $1`, [event.eventId])
    await remove(ref)
    const { rows } = await database.db.query('select state, body from webhook_events where id = $1', [
      event.eventId,
    ])
    expect(rows).toEqual([{ state: 'purged', body: null }])
  })
})
