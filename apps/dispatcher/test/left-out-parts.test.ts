import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Db, isUnavailable, type Queryable } from '@signet/db'
import { waitFor, type TestDatabase } from '@signet/testkit'
import { aSummary, queueSummary, webhooksDatabase } from '@signet/webhook-testkit'
import type { RecordingRef } from '@signet/webhook-core/stores'
import { createPools } from '../src/database/pools.js'
import type { RetryWhileUnavailable } from '../src/database/retry-while-unavailable.js'
import { PartsReader, type PartProblem, type PartsReaderDeps } from '../src/preparing/parts-reader.js'

const MEBIBYTE = 1024 * 1024
let testDatabase: TestDatabase
let pools: ReturnType<typeof createPools>
beforeAll(async () => {
  testDatabase = await webhooksDatabase()
  pools = createPools(testDatabase.url, () => undefined)
})
afterAll(async () => {
  await pools.close()
  await testDatabase.drop()
})

const retryWhileUnavailable: RetryWhileUnavailable = async (work) => {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }
}

function reading(changes: Partial<PartsReaderDeps> = {}) {
  const problems: PartProblem[] = []
  const parts = new PartsReader({
    db: pools.recordings,
    events: pools.db,
    retryWhileUnavailable,
    onProblem: (problem) => problems.push(problem),
    ...changes,
  })
  return { parts, problems }
}

async function aRecording(contentBytes = 10): Promise<RecordingRef> {
  const accountId = randomUUID()
  const summaries = [{ label: 'Summary', content: 'x'.repeat(contentBytes), format: 'markdown' }]
  const { audioId } = aSummary({ accountId })
  await queueSummary(pools.db, aSummary({ accountId, transcript: { text: 'Hello' }, summaries }))
  return { accountId, audioId }
}

/** Blocks the event loop. */
function standStill(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

it.each([
  ['small', 10],
  ['too large for the buffers of its connection', 16 * MEBIBYTE],
])(
  'loses no part that is %s because the process stands still before it reads the result',
  async (_, bytes) => {
    let standsStill = false
    const db: Queryable = {
      query(text, values) {
        const result = pools.recordings.query<never>(text, values)
        if (standsStill) setImmediate(() => standStill(3000))
        standsStill = false
        return result
      },
    }
    const { parts, problems } = reading({ db })
    const ref = await aRecording(bytes)
    // Opens the connections, so that the next statements are sent at once.
    await parts.read(ref)
    standsStill = true
    const { summaries } = await parts.read(ref)
    expect(problems).toEqual([])
    expect(summaries[0]?.content).toHaveLength(bytes)
  },
)

it('reads parts again when PostgreSQL ends their connections, each time', async () => {
  const withoutTimeLimit = new Db({ connectionString: testDatabase.url, applicationName: 'ended', max: 9 })
  const { parts, problems } = reading({ db: withoutTimeLimit })
  const refs = [await aRecording(), await aRecording()]
  const { reads } = await pools.db.transaction(async (tx) => {
    await tx.query('lock table transcripts in access exclusive mode')
    const reads = Promise.all(refs.map((ref) => parts.read(ref)))
    for (let i = 0; i < 3; i += 1) await waitFor(async () => (await endedReaders()) > 0)
    return { reads }
  })
  for (const { transcript } of await reads) expect(transcript?.text).toBe('Hello')
  expect(problems).toEqual([])
  await withoutTimeLimit.close()
})

/** Terminates the connections that wait for the lock, and returns their number. */
async function endedReaders(): Promise<number> {
  const { rows } = await pools.db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'ended' and wait_event_type = 'Lock'`,
  )
  return rows.length
}

const refuse = () =>
  Promise.reject(Object.assign(new Error('connect ECONNREFUSED 192.0.2.1:5432'), { code: 'ECONNREFUSED' }))

it('waits for as long as the whole database is away', async () => {
  const ref = await aRecording()
  let refusals = 1000
  const whenBack = (db: Db): PartsReaderDeps['events'] => ({
    query: (text, values) => (refusals-- > 0 ? refuse() : db.query(text, values)),
    ping: () => (refusals-- > 0 ? refuse() : db.ping()),
  })
  const { parts, problems } = reading({ db: whenBack(pools.recordings), events: whenBack(pools.db) })
  expect((await parts.read(ref)).transcript?.text).toBe('Hello')
  expect(problems).toEqual([])
})

it('does without the parts in the end if the database works and only their connections fail', async () => {
  const { parts, problems } = reading({ db: { query: refuse } })
  const ref = await aRecording()
  expect(await parts.measure(ref)).toBe(0)
  expect(await parts.read(ref)).toEqual({ recording: null, transcript: null, summaries: [] })
  expect(problems.map(({ part }) => part).sort()).toEqual(['recording', 'summaries', 'transcript'])
})
