import { expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint, NOW } from '@signet/webhook-testkit'
import { PendingRows } from '../../src/dispatching/pending-rows.js'
import { firstResultsIn, onlyOne } from '../support/first-results.js'

const database = useWebhooksDatabase()
const { snapshotsFor, rowsOf } = firstResultsIn(database)

it('writes the rows of other events while one is locked, and its own once it is not', async () => {
  const { db } = database
  const rows = new PendingRows({ db, retryWhileUnavailable: (work) => work(), now: () => NOW })
  const [locked, other] = await Promise.all([anEndpoint(db), anEndpoint(db)])
  const snapshot = onlyOne(await snapshotsFor(locked.accountId))
  const beside = onlyOne(await snapshotsFor(other.accountId))
  const held = await db.transaction(async (tx) => {
    await tx.query(`select from webhook_events where id = $1 for update`, [snapshot.eventId])
    const writing = rows.write([snapshot])
    await rows.write([beside])
    expect(await rowsOf(other.accountId)).toEqual([{ id: beside.id, status: 0, last_error: '' }])
    return { writing }
  })
  await held.writing
  expect(await rowsOf(locked.accountId)).toEqual([{ id: snapshot.id, status: 0, last_error: '' }])
})

it.each<[string, string]>([
  ['is gone', 'delete from webhook_events where id = $1'],
  ['was purged', `update webhook_events set state = 'purged', body = null where id = $1`],
])('says that it wrote nothing for an event that %s, and does not wait for it', async (_how, change) => {
  const { db } = database
  const rows = new PendingRows({ db, retryWhileUnavailable: (work) => work(), now: () => NOW })
  const [{ accountId }, other] = await Promise.all([anEndpoint(db), anEndpoint(db)])
  const [snapshot, beside] = [
    onlyOne(await snapshotsFor(accountId)),
    onlyOne(await snapshotsFor(other.accountId)),
  ]
  await db.query(change, [snapshot.eventId])
  expect(await Promise.all([rows.write([snapshot]), rows.write([beside])])).toEqual([false, true])
  expect(await rowsOf(accountId)).toEqual([])
})
