import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Db, type Queryable, type Tx } from '@signet/db'
import { lockWaiters, waitFor } from '@signet/testkit'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint, NOW } from '@signet/webhook-testkit'
import type { DeliveryId } from '@signet/webhook-core'
import type { Endpoint } from '@signet/webhook-core/stores'
import { ResultRecorder } from '../../src/attempts/result-recorder.js'
import { UnwrittenEvent } from '../../src/attempts/unwritten-event.js'
import { retryWhileUnavailable as retrying } from '../../src/database/retry-while-unavailable.js'
import { recordFirstAttempts } from '../../src/deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../../src/deliveries/delivery-store.js'
import { FirstAttempts } from '../../src/dispatching/first-attempts.js'
import { aRecorder, eventStates } from '../support/deliveries.js'
import { DELIVERED, firstResultsIn, onlyOne, resultOf, storeRows } from '../support/first-results.js'

const database = useWebhooksDatabase()
const { snapshotsFor, snapshotsWithOneId, rowsOf } = firstResultsIn(database)

/** A pool whose statements stop waiting for a lock almost at once. */
let withShortWaits: Db
beforeAll(() => {
  const { connectionString } = database.db.pool.options
  if (connectionString === undefined) throw new Error('a database by its URL')
  withShortWaits = new Db({ connectionString, max: 2, lockTimeoutMs: 20 })
})
afterAll(() => withShortWaits.close())

const unwritten = (snapshots: readonly DeliverySnapshot[]) => {
  const [snapshot] = snapshots
  if (!snapshot) throw new Error('a snapshot')
  return new UnwrittenEvent(snapshot.eventId, snapshots, (all) => storeRows(database.db, all))
}

/** First attempts that all succeed. */
function succeeding(recorder: ResultRecorder) {
  return new FirstAttempts({
    db: database.db,
    attempts: {
      async runFirst(snapshot, { unwritten: event }) {
        await recorder.record(
          resultOf(snapshot, DELIVERED),
          snapshot.endpoint.accountId,
          event && { snapshot, event },
        )
        return { kind: 'finished' }
      },
    },
    lostRuns: { reportFirst: () => Promise.reject(new Error('none is lost')) },
    queues: { addDeliveries: () => Promise.resolve() },
    bodies: { drop: () => undefined, firstAttemptsEnded: () => undefined },
    retryWhileUnavailable: (work) => work(),
    now: () => NOW,
  })
}

it('makes an event dispatched whose results are recorded one by one, because the result of another cannot be', async () => {
  const { db } = database
  const { written, late } = await snapshotsWithOneId()
  await recordFirstAttempts(db, [resultOf(written, DELIVERED)], [written.eventId])
  const { accountId } = await anEndpoint(db)
  await anEndpoint(db, { accountId })
  const snapshots = await snapshotsFor(accountId)
  const event = unwritten(snapshots)
  const recorder = aRecorder(db)
  const outcome = { created: snapshots, unwritten: event, unfinished: [], readAt: 0 }
  // Both results share a batch, because they are added before anything else happens.
  const settled = await Promise.allSettled([
    recorder.record(resultOf(late, DELIVERED), 'any', { snapshot: late, event: unwritten([late]) }),
    succeeding(recorder).run(event.id, outcome),
  ])
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  expect(await rowsOf(accountId)).toMatchObject([{ status: 1 }, { status: 1 }])
  expect(await eventStates(db, [event.id])).toEqual({ [event.id]: 'dispatched' })
})

it('leaves an event queued that lacks a delivery, when results are recorded again because a later statement failed', async () => {
  const { db } = database
  const { accountId } = await anEndpoint(db)
  await anEndpoint(db, { accountId })
  const snapshots = await snapshotsFor(accountId)
  const event = unwritten(snapshots)
  const [ended] = snapshots
  if (!ended) throw new Error('a snapshot')
  const failing: Queryable = {
    query: (statement, values) =>
      typeof statement !== 'string' && statement.name === 'record-attempts'
        ? Promise.reject(new Error('refused'))
        : db.query(statement, values),
  }
  const once = <T>(work: () => Promise<T>) => work()
  const recorder = new ResultRecorder({
    db: failing,
    dbApart: failing,
    retryWhileUnavailable: once,
    retryTimeouts: once,
  })
  const withRow = onlyOne(await snapshotsFor((await anEndpoint(db)).accountId))
  // Both share a batch. The result of the other account is for a delivery with a row, which takes the second statement.
  await Promise.allSettled([
    recorder.record(resultOf(ended, DELIVERED), accountId, { snapshot: ended, event }),
    recorder.record(resultOf(withRow, DELIVERED), withRow.endpoint.accountId),
  ])
  expect(await rowsOf(accountId)).toMatchObject([{ id: ended.id, status: 1 }])
  expect(await eventStates(db, [event.id])).toEqual({ [event.id]: 'queued' })
})

describe('a batch that times out', () => {
  it('is divided by account, and what is not blocked shares statements again', async () => {
    const { db } = database
    const { shared, apart, record } = counting()
    const [blocked, ...others] = (await endpoints(3)) as [Endpoint, Endpoint, Endpoint]
    const snapshots = await snapshotsOf([blocked, ...others], 3)
    const more = [...(await snapshotsOf(others, 2)), ...(await snapshotsOf([blocked], 1))]
    const held = await db.transaction(async (tx) => {
      await lock(tx, [blocked])
      const results = snapshots.map(record)
      await timeOut()
      expect(await Promise.all(results.slice(3))).toMatchObject(all(6))
      expect(shared.splice(0)).toMatchObject([{ length: 9 }])
      const free = new Set(snapshots.slice(3).map(({ id }) => id))
      expect(apart.filter(([id]) => id !== undefined && free.has(id))).toMatchObject([
        { length: 3 },
        { length: 3 },
      ])
      // The shared statement leaves out the result of the account that is blocked.
      const further = more.map(record)
      expect(await Promise.all(further.slice(0, 4))).toMatchObject(all(4))
      expect(shared.splice(0)).toMatchObject([{ length: 4 }])
      return { results: [...results.slice(0, 3), ...further.slice(4)] }
    })
    expect(await Promise.all(held.results)).toMatchObject(all(4))
    shared.splice(0)
    const after = await snapshotsOf([blocked, ...others], 2)
    expect(await Promise.all(after.map(record))).toMatchObject(all(6))
    expect(shared).toMatchObject([{ length: 6 }])
  })

  it('leaves out of the next one what came for its accounts meanwhile', async () => {
    const { db } = database
    const { shared, record } = counting()
    const [blocked, other] = (await endpoints(2)) as [Endpoint, Endpoint]
    const [first, second] = (await snapshotsOf([blocked], 2)) as [DeliverySnapshot, DeliverySnapshot]
    const beside = onlyOne(await snapshotsOf([other], 1))
    const held = await db.transaction(async (tx) => {
      await lock(tx, [blocked])
      const results = [record(first)]
      await lockWaiters(db, 1)
      results.push(record(second))
      const free = record(beside)
      await timeOut()
      expect(await free).toMatchObject({ status: 1 })
      // `second` stays out of shared statements until the lock is released. After that, the account shares statements again.
      expect(shared).toMatchObject([{ length: 1 }, { length: 1 }])
      return { results }
    })
    expect(await Promise.all(held.results)).toMatchObject(all(2))
  })

  it('is recorded but for the accounts that stay blocked, however many those are', async () => {
    const { db } = database
    const { record } = counting()
    const blocked = await endpoints(4)
    const snapshots = await snapshotsOf([...blocked, ...(await endpoints(5))], 1)
    const held = await db.transaction(async (tx) => {
      await lock(tx, blocked)
      const results = snapshots.map(record)
      await timeOut()
      expect(await Promise.all(results.slice(4))).toMatchObject(all(5))
      return { results: results.slice(0, 4) }
    })
    expect(await Promise.all(held.results)).toMatchObject(all(4))
  })
})

const all = (count: number) => Array.from({ length: count }, () => ({ status: 1 }))
const endpoints = (count: number) => Promise.all(Array.from({ length: count }, () => anEndpoint(database.db)))

/** Snapshots of `count` events for each endpoint, grouped by endpoint. */
const snapshotsOf = async (of: readonly Endpoint[], count: number) =>
  (await Promise.all(of.map(({ accountId }) => snapshotsFor(accountId, count)))).flat()

const lock = (tx: Tx, of: readonly Endpoint[]) =>
  tx.query(`select from webhook_endpoints where id = any ($1) for update`, [of.map(({ id }) => id)])

/** A recorder that repeats what times out, and lists of the deliveries in each of its statements. */
function counting() {
  const { signal } = new AbortController()
  const counted = (db: Queryable) => {
    const statements: DeliveryId[][] = []
    const query: Queryable['query'] = (text, values = []) => {
      statements.push(values[0] as DeliveryId[])
      return db.query(text, values)
    }
    return { statements, db: { query } }
  }
  const [shared, apart] = [counted(database.db), counted(withShortWaits)]
  const recorder = new ResultRecorder({
    db: shared.db,
    dbApart: apart.db,
    retryWhileUnavailable: (work) => retrying(work, { stop: signal }),
    retryTimeouts: (work) => retrying(work, { stop: signal, retryTimeouts: true }),
  })
  const record = (snapshot: DeliverySnapshot) =>
    recorder.record(resultOf(snapshot, DELIVERED), snapshot.endpoint.accountId, {
      snapshot,
      event: unwritten([snapshot]),
    })
  return { shared: shared.statements, apart: apart.statements, record }
}

/** Cancels the statement that waits for a lock, with the same code as the time limit of statements. */
async function timeOut(): Promise<void> {
  await waitFor(async () => {
    const { rows } = await database.db.query(
      `select pg_cancel_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  })
}
