import { describe, expect, it } from '@jest/globals'
import { Db, type Queryable } from '@signet/db'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anAccount, aSummary, behindLock, fillTables, findRecordings } from '@signet/webhook-testkit'
import { writeTombstone } from '@signet/webhook-core/stores'
import { lockRecording, writeRecordings, type RecordingChange } from '../src/ingest/recording-store.js'
import { RecordingWriter } from '../src/ingest/recording-writer.js'
import { aChange } from './support/recordings.js'

const database = useWebhooksDatabase()

const notice = (overrides: Partial<Parameters<typeof aSummary>[0]> = {}): RecordingChange =>
  aChange(
    aSummary({
      accountId: anAccount(),
      recording: { title: 'x' },
      transcript: { text: 'x' },
      summaries: [{ label: 'a', content: 'x', format: 'markdown' }],
      ...overrides,
    }),
  )
const many = (count: number, make: (index: number) => RecordingChange) =>
  Array.from({ length: count }, (_, index) => make(index))

/** Holds each statement until the test sends it, and notes the accounts in it. */
function heldDatabase() {
  const statements: { accounts: string[]; send: () => void }[] = []
  const db: Queryable = {
    query: (text, values = []) =>
      new Promise((resolve, reject) => {
        const send = () => void database.db.query<never>(text, values).then(resolve, reject)
        statements.push({ accounts: values[1] as string[], send })
      }),
  }
  return { statements, db }
}

const eventCount = async (sourceEventKey: string) => {
  const { rows } = await database.db.query('select from webhook_events where source_event_key = $1', [
    sourceEventKey,
  ])
  return rows.length
}

describe('notices that come at the same time', () => {
  it('share statements, which commit by themselves, and each gets its own result', async () => {
    const { statements, db } = heldDatabase()
    const writer = new RecordingWriter(db)
    const changes = many(100, () => notice())
    const results = Promise.all(changes.map((change) => writer.write(change)))
    for (let sent = 0; sent < 3; sent += 1) {
      statements[sent]?.send()
      while (sent < 2 && statements.length < sent + 2) await new Promise(setImmediate)
    }
    expect(await results).toEqual(
      changes.map(({ event }) => ({ kind: 'created', eventId: event?.id ?? 'none' })),
    )
    expect(statements.map(({ accounts }) => accounts.length)).toEqual([1, 64, 35])
    expect(await findRecordings(database.db, changes)).toEqual(changes.map(() => ({ title: 'x' })))
  })

  it('get their places by account in turn: a flood of one does not delay another', async () => {
    const { statements, db } = heldDatabase()
    const writer = new RecordingWriter(db)
    const [flooding, other] = [anAccount(), anAccount()]
    const flood = many(500, (n) => notice({ accountId: flooding, audioId: `rec_${n}` }))
    for (const change of flood) void writer.write(change).catch(() => undefined)
    const result = writer.write(notice({ accountId: other }))
    statements[0]?.send()
    while (statements.length < 2) await new Promise(setImmediate)
    expect(statements[1]?.accounts).toContain(other)
    statements[1]?.send()
    expect(await result).toMatchObject({ kind: 'created' })
  })

  it('fail alone: one that cannot be stored does not fail the others of its statement', async () => {
    const writer = new RecordingWriter(database.db)
    const changes = many(30, (n) => notice(n === 7 ? { recording: { durationMs: -1 } } : {}))
    const settled = await Promise.allSettled(changes.map((change) => writer.write(change)))
    const failed = settled.flatMap((one, n) => (one.status === 'rejected' ? [n] : []))
    expect(failed).toEqual([7])
    expect(settled[7]).toMatchObject({ reason: { code: '23514' } })
    expect(await findRecordings(database.db, changes.slice(6, 9))).toMatchObject([
      { title: 'x' },
      null,
      { title: 'x' },
    ])
  })

  it('are not held up by a recording that somebody else writes, which waits for its turn', async () => {
    const writer = new RecordingWriter(database.db)
    const busy = notice({ recording: { title: 'second' } })
    let waiting: Promise<unknown> = Promise.resolve()
    await database.db.transaction(async (tx) => {
      await lockRecording(tx, busy)
      waiting = writer.write(busy)
      const others = await Promise.all(many(20, () => notice()).map((change) => writer.write(change)))
      expect(new Set(others.map(({ kind }) => kind))).toEqual(new Set(['created']))
      expect(await eventCount(busy.event?.sourceEventKey ?? '')).toBe(0)
    })
    expect(await waiting).toMatchObject({ kind: 'created' })
    expect(await findRecordings(database.db, [busy])).toEqual([{ title: 'second' }])
  })

  it('are written in their order where they are about one recording, although the first is large', async () => {
    const { statements, db } = heldDatabase()
    const writer = new RecordingWriter(db)
    const of = { accountId: anAccount(), audioId: 'rec_1' }
    const large = notice({ ...of, recording: { title: 'first' }, transcript: { text: 'x'.repeat(300_000) } })
    const small = notice({ ...of, recording: { title: 'second' } })
    const results = [writer.write(large), writer.write(small)]
    // As if the database took the last statement first.
    statements.pop()?.send()
    await Promise.race(results)
    while (statements.length === 0) await new Promise(setImmediate)
    statements.pop()?.send()
    expect(await Promise.all(results)).toMatchObject([{ kind: 'created' }, { kind: 'created' }])
    expect(await findRecordings(database.db, [small])).toEqual([{ title: 'second' }])
  })

  it('create one event per key, also through many processes at once', async () => {
    const writers = Array.from({ length: 4 }, () => new RecordingWriter(database.db))
    const [accountId, sourceEventKey] = [anAccount(), `same:${anAccount()}`]
    const results = await Promise.all(
      many(40, (n) => notice({ accountId, audioId: `rec_${n % 9}`, sourceEventKey })).map((change, n) =>
        (writers[n % 4] as RecordingWriter).write(change),
      ),
    )
    const created = results.filter((result) => result.kind === 'created')
    expect(created).toHaveLength(1)
    expect(results.filter((result) => result.kind === 'duplicate')).toHaveLength(39)
    expect(new Set(results.map((result) => 'eventId' in result && result.eventId)).size).toBe(1)
    expect(await eventCount(sourceEventKey)).toBe(1)
  })
})

describe('statements of several processes', () => {
  const deadlocks = async () => {
    const { rows } = await database.db.query<{ deadlocks: string }>(
      'select deadlocks from pg_stat_database where datname = current_database()',
    )
    return Number(rows[0]?.deadlocks)
  }

  it('never deadlock, in any order of their recordings and keys', async () => {
    const accounts = Array.from({ length: 8 }, anAccount)
    const before = await deadlocks()
    for (let n = 0; n < 10; n += 1) {
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, (_, process) => {
          // Half of the processes write the same recordings; the others use the same keys for different recordings.
          const ofRecording = (r: number) => (process < 4 ? `rec_${r}` : `rec_${r}_of_${process}`)
          const changes = accounts.flatMap((accountId, a) =>
            many(6, (r) =>
              notice({ accountId, audioId: ofRecording(r), sourceEventKey: `key ${n} ${a} ${r}` }),
            ),
          )
          const turned = [...changes.slice(process * 5), ...changes.slice(0, process * 5)]
          return writeRecordings(database.db, process % 2 ? turned.reverse() : turned, {
            waitForTurn: process % 4 === 3,
          })
        }),
      )
      const created = outcomes.flat().filter(({ kind }) => kind === 'created')
      expect(created).toHaveLength(48)
    }
    expect(await deadlocks()).toBe(before)
  })
})

describe('a deleted account', () => {
  it('gets nothing from a statement that waited for the deletion, and its neighbors everything', async () => {
    const gone = notice()
    const neighbor = notice()
    const [first, second] = await behindLock(
      database.db,
      (tx) => writeTombstone(tx, gone.accountId, new Date()),
      1,
      () => writeRecordings(database.db, [gone, neighbor], { waitForTurn: false }),
    )
    expect([first, second]).toEqual([{ kind: 'deleted' }, { kind: 'created', eventId: neighbor.event?.id }])
    expect(await findRecordings(database.db, [gone, neighbor])).toEqual([null, { title: 'x' }])
  })
})

describe('writing recordings', () => {
  it('reads no table in full, however large the tables are', async () => {
    await fillTables(database.db)
    const { rows: urls } = await database.db.query<{ name: string }>('select current_database() as name')
    const url = new URL(String(database.db.pool.options.connectionString))
    expect(url.pathname).toBe(`/${urls[0]?.name ?? ''}`)
    const db = new Db({ connectionString: url.href, max: 1, preferIndexes: true })
    try {
      const known = notice({ sourceEventKey: 'key:7' })
      const scans = await db.transaction(async (tx) => {
        await writeRecordings(
          tx,
          [
            ...many(20, () => notice()),
            known,
            aChange({ ...aSummary({ accountId: anAccount() }), recording: null, transcript: null }),
          ],
          { waitForTurn: false },
        )
        const { rows } = await tx.query<{ relname: string; seq: number; idx: number }>(
          `select relname, seq_scan::integer as seq, coalesce(idx_scan, 0)::integer as idx
           from pg_stat_xact_user_tables where seq_scan > 0 or idx_scan > 0 order by 1`,
        )
        return rows
      })
      expect(scans.filter(({ seq }) => seq > 0)).toEqual([])
      expect(scans.map(({ relname }) => relname)).toEqual(
        expect.arrayContaining(['account_states', 'summaries', 'transcripts', 'webhook_events']),
      )
    } finally {
      await db.close()
    }
  })
  it('has its statement parsed once on each connection', async () => {
    const { connectionString } = database.db.pool.options
    const db = new Db({ connectionString: String(connectionString), max: 1 })
    try {
      for (let n = 0; n < 3; n += 1) await writeRecordings(db, [notice()], { waitForTurn: false })
      const { rows } = await db.query<{ executed: number }>(
        `select (generic_plans + custom_plans)::integer as executed from pg_prepared_statements
         where statement like '%write_recordings(%'`,
      )
      expect(rows).toEqual([{ executed: 3 }])
    } finally {
      await db.close()
    }
  })
})
