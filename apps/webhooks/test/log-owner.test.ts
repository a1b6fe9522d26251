import { expect, it } from '@jest/globals'
import { newEventId, type DeliveryId } from '@signet/webhook-core'
import { anAccount, anEndpoint } from '@signet/webhook-testkit'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { findAttempts, findDelivery, findPayload } from '../src/deliveries/attempt-log-store.js'
import type { LogOwner } from '../src/deliveries/delivery-row.js'
import { findDeliveries } from '../src/deliveries/delivery-store.js'
import {
  countNewer,
  findLogPage,
  findNewestSettled,
  findPlaceBehind,
} from '../src/deliveries/log-page-store.js'
import { findObstacle, replayDelivery } from '../src/deliveries/replay-store.js'

const database = useWebhooksDatabase()

/** Two deliveries with an attempt each. */
async function aLog() {
  const { db } = database
  const { accountId, id: endpointId } = await anEndpoint(db)
  const ids: DeliveryId[] = []
  for (const age of ['2 hours', '1 hour']) {
    const eventId = newEventId(new Date())
    await db.query(
      `insert into webhook_events (id, account_id, type, source, state, body, dispatched_at)
       values ($1, $2, 'summary.completed', 'test', 'dispatched', '{}', now())`,
      [eventId, accountId],
    )
    const { rows } = await db.query<{ id: DeliveryId }>(
      `insert into webhook_deliveries (endpoint_id, event_id, event_type, status, delivered_at, created_at)
       values ($1, $2, 'summary.completed', 1, now(), now() - $3::interval) returning id`,
      [endpointId, eventId, age],
    )
    ids.push(...rows.map(({ id }) => id))
  }
  await db.query(
    `insert into webhook_attempts (delivery_id, number, url_version, started_at, duration_ms, error)
     select id, 1, 1, now(), 1, '' from webhook_deliveries where id = any ($1)`,
    [ids],
  )
  return { owner: { accountId, endpointId }, id: ids[0] as DeliveryId }
}

const END = { createdAt: 'infinity', id: '1' as DeliveryId }
const START = { createdAt: '-infinity', id: '1' as DeliveryId }

/** The readers of the log, each with what it returns if there is nothing. */
const readers: Record<
  string,
  [read: (owner: LogOwner, id: DeliveryId) => Promise<unknown>, nothing: unknown]
> = {
  findDelivery: [(owner, id) => findDelivery(database.db, owner, id), null],
  findPayload: [(owner, id) => findPayload(database.db, owner, { id, maxLength: 9 }), null],
  findAttempts: [(owner, id) => findAttempts(database.db, owner, id), []],
  findObstacle: [async (owner, id) => (await findObstacle(database.db, owner, id)).gone || null, true],
  findDeliveries: [async (owner) => (await findDeliveries(database.db, owner, {}, { limit: 5 })).items, []],
  replayDelivery: [(owner, id) => replayDelivery(database.db, owner, id), null],
  findNewestSettled: [(owner) => findNewestSettled(database.db, owner), null],
  findPlaceBehind: [(owner) => findPlaceBehind(database.db, owner, END, 1), null],
  countNewer: [(owner) => countNewer(database.db, owner, START), 0],
  findLogPage: [(owner) => findLogPage(database.db, owner, null, { skip: 0, limit: 5 }), []],
}

it.each(Object.entries(readers))('%s shows a log to its owner alone', async (_name, [read, nothing]) => {
  const { owner, id } = await aLog()
  expect(await read({ ...owner, accountId: anAccount() }, id)).toEqual(nothing)
  expect(await read({ ...owner, endpointId: (await anEndpoint(database.db)).id }, id)).toEqual(nothing)
  expect(await read(owner, id)).not.toEqual(nothing)
})
