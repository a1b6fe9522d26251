import { describe, expect, it } from '@jest/globals'
import type { Tx } from '@signet/db'
import { purgeRecording, type Endpoint } from '@signet/webhook-core/stores'
import { anEndpoint, behindLock, deliveryState, endpointState, later } from '@signet/webhook-testkit'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { UnwrittenEvent } from '../../src/attempts/unwritten-event.js'
import { listAttempts, type AttemptResult } from '../../src/deliveries/attempt-store.js'
import { cancelDelivery, type DeliverySnapshot } from '../../src/deliveries/delivery-store.js'
import { findEventSnapshots } from '../../src/dispatching/first-attempt-store.js'
import { attemptsIn, first } from '../support/attempts.js'
import { aRecorder, aResult, retry, type TestDelivery } from '../support/deliveries.js'
import { DELIVERED, firstResultsIn, onlyOne, resultOf, storeRows } from '../support/first-results.js'

const database = useWebhooksDatabase()
const { withDeliveries } = attemptsIn(database)
const { queued, rowsOf } = firstResultsIn(database)

const record = (endpoint: Endpoint, ...results: AttemptResult[]) => {
  const recorder = aRecorder(database.db)
  return Promise.all(results.map((result) => recorder.record(result, endpoint.accountId)))
}
const logOf = async ({ id }: Pick<TestDelivery, 'id'>) =>
  (await listAttempts(database.db, [id])).map(({ number, error }) => ({ number, error }))
const interrupted = (delivery: TestDelivery, number = 1) =>
  aResult(delivery, retry('interrupted'), { number, key: null })

describe('the attempts of a delivery', () => {
  it('count each, also when two processes made one with the same number', async () => {
    const { endpoint, deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await record(endpoint, aResult(delivery, retry('http_500'), { key: 1 }))
    const [late] = await record(endpoint, aResult(delivery, retry('http_503'), { key: 2 }))
    // The first result has already decided when the next attempt is due, and what counts for the endpoint.
    expect(late).toMatchObject({
      status: 0,
      attempts: 2,
      nextAttemptAt: later(60_040),
      lastError: 'http_500',
    })
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({ status: 0, attempts: 2 })
    expect((await endpointState(database.db, endpoint.id)).consecutive_failures).toBe(1)
    expect(await logOf(delivery)).toEqual([
      { number: 1, error: 'http_500' },
      { number: 2, error: 'http_503' },
    ])
  })

  it('count each of many that are recorded at once', async () => {
    const { endpoint, deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await behindLock(
      database.db,
      (tx: Tx) => tx.query(`select id from webhook_deliveries where id = $1 for update`, [delivery.id]),
      8,
      () =>
        Promise.all(
          Array.from({ length: 8 }, (_, key) => record(endpoint, aResult(delivery, retry(), { key }))),
        ),
    )
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({ status: 0, attempts: 8 })
    expect((await logOf(delivery)).map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  })

  it('count one once whose result is reported again, however often and beside which others', async () => {
    const { endpoint, deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    const [one, two] = [1, 2].map((key) => aResult(delivery, retry(), { key })) as [
      AttemptResult,
      AttemptResult,
    ]
    await Promise.all([one, two, one, two, one, two].map((result) => record(endpoint, result)))
    await record(endpoint, one)
    await record(endpoint, two)
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({ attempts: 2 })
    expect(await logOf(delivery)).toHaveLength(2)
  })

  it('count one once that was given up as interrupted before its result arrived', async () => {
    const { endpoint, deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await record(endpoint, interrupted(delivery))
    const given = aResult(delivery, retry('http_500'), { key: 1, httpStatus: 500 })
    await behindLock(
      database.db,
      (tx: Tx) => tx.query(`select id from webhook_deliveries where id = $1 for update`, [delivery.id]),
      4,
      () => Promise.all([1, 2, 3, 4].map(() => record(endpoint, given))),
    )
    expect(await logOf(delivery)).toEqual([{ number: 1, error: 'http_500' }])
    await record(endpoint, aResult(delivery, retry('timeout'), { key: 2 }), interrupted(delivery))
    expect(await deliveryState(database.db, delivery.id)).toMatchObject({
      attempts: 2,
      last_error: 'interrupted',
    })
    expect(await logOf(delivery)).toEqual([
      { number: 1, error: 'http_500' },
      { number: 2, error: 'timeout' },
    ])
  })

  it('count in a delivery that has ended, and only a success changes how', async () => {
    const { endpoint, deliveries } = await withDeliveries(2)
    const [failed, delivered] = deliveries as [TestDelivery, TestDelivery]
    const over = { kind: 'over', error: 'http_500' } as const
    await record(endpoint, aResult(failed, over, { key: 1 }), aResult(delivered, DELIVERED, { key: 1 }))
    await record(endpoint, aResult(failed, retry(), { key: 2 }), aResult(delivered, retry(), { key: 2 }))
    expect(await deliveryState(database.db, failed.id)).toMatchObject({ status: 2, attempts: 2 })
    expect(await deliveryState(database.db, delivered.id)).toMatchObject({ status: 1, attempts: 2 })
    const [late] = await record(endpoint, aResult(failed, DELIVERED, { key: 3 }))
    expect(late).toMatchObject({ status: 1, attempts: 3 })
    expect(await deliveryState(database.db, failed.id)).toMatchObject({ status: 1, attempts: 3 })
  })

  it('keep no response to an event whose recording was deleted meanwhile', async () => {
    const { endpoint, deliveries } = await withDeliveries(2)
    const [once, twice] = deliveries as [TestDelivery, TestDelivery]
    await record(endpoint, aResult(twice, retry(), { key: 1, answer: 'echo' }))
    await purgeRecording(database.db, { accountId: endpoint.accountId, audioId: 'rec_1001' })
    await record(
      endpoint,
      aResult(once, retry(), { key: 1, answer: 'echo' }),
      aResult(twice, retry(), { key: 2, answer: 'echo' }),
    )
    const log = await listAttempts(database.db, [once.id, twice.id])
    expect(log.map(({ answer }) => answer)).toEqual(['', '', ''])
  })

  it('are not recorded for a delivery that is gone', async () => {
    const { endpoint, deliveries } = await withDeliveries(1)
    const delivery = first(deliveries)
    await cancelDelivery(database.db, delivery.id, 'recording_deleted')
    await database.db.query('delete from webhook_deliveries where id = $1', [delivery.id])
    expect(await record(endpoint, aResult(delivery, retry()))).toEqual([null])
  })
})

describe('first attempts of one event in two processes', () => {
  /** An event as a process reads it, whose rows are still unwritten. */
  async function aRun(id: DeliverySnapshot['eventId']) {
    const { db } = database
    const snapshot = onlyOne(onlyOne(await findEventSnapshots(db, [id])).deliveries)
    return {
      snapshot,
      event: new UnwrittenEvent(id, [snapshot], (snapshots) => storeRows(db, snapshots)),
    }
  }

  it.each<[string, (run: Awaited<ReturnType<typeof aRun>>) => Promise<unknown>]>([
    ['nobody has written', () => Promise.resolve()],
    ['the other one has written as pending', ({ event }) => event.write()],
  ])('both count in a row that %s', async (_what, before) => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const id = onlyOne(await queued(endpoint.accountId))
    const [frozen, other] = [await aRun(id), await aRun(id)]
    await before(other)
    const outcome = (run: typeof frozen, key: number, status: number) =>
      aRecorder(db).record(
        { ...resultOf(run.snapshot, status === 200 ? DELIVERED : retry()), key },
        endpoint.accountId,
        run,
      )
    expect(await outcome(other, 1, 500)).toMatchObject({ status: 0, attempts: 1 })
    // This process has nothing more to do: the other one continues the delivery.
    expect(await outcome(frozen, 2, 200)).toBeNull()
    expect(await rowsOf(endpoint.accountId)).toMatchObject([{ id: other.snapshot.id, status: 1 }])
    expect(await deliveryState(db, other.snapshot.id)).toMatchObject({ attempts: 2 })
    expect(await logOf(other.snapshot)).toEqual([
      { number: 1, error: 'http_500' },
      { number: 2, error: '' },
    ])
  })

  it('both count where the one that came too late had its rows written, too', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const id = onlyOne(await queued(endpoint.accountId))
    const [late, other] = [await aRun(id), await aRun(id)]
    const recorder = aRecorder(db)
    await recorder.record({ ...resultOf(other.snapshot, retry()), key: 1 }, endpoint.accountId, other)
    await late.event.write()
    await recorder.record({ ...resultOf(late.snapshot, retry()), key: 2 }, endpoint.accountId, late)
    expect(await deliveryState(db, other.snapshot.id)).toMatchObject({ status: 0, attempts: 2 })
  })
})
