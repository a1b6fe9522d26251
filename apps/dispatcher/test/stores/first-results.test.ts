import { describe, expect, it } from '@jest/globals'
import type { Tx } from '@signet/db'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import {
  anEndpoint,
  aSummary,
  behindLock,
  deliveryState,
  endpointState,
  later,
  NOW,
  queueSummary,
} from '@signet/webhook-testkit'
import {
  closeAccount,
  deleteAccountEndpoints,
  deleteAccountEvents,
  deleteEndpoint,
  purgeRecording,
  type Endpoint,
} from '@signet/webhook-core/stores'
import {
  listAttempts,
  recordAttempts,
  recordFirstAttempts,
  type FirstResult,
} from '../../src/deliveries/attempt-store.js'
import type { AttemptPlan } from '../../src/deliveries/delivery-store.js'
import { planFirstAttempts, writeDeliveries } from '../../src/dispatching/first-attempt-store.js'
import { ResultRecorder } from '../../src/attempts/result-recorder.js'
import { UnwrittenEvent } from '../../src/attempts/unwritten-event.js'
import type { RetryWhileUnavailable } from '../../src/database/retry-while-unavailable.js'
import { eventStates, retry } from '../support/deliveries.js'
import { attemptsIn } from '../support/attempts.js'

const database = useWebhooksDatabase()
const { setFailures } = attemptsIn(database)

const DELIVERED = { kind: 'delivered' } as const

/** So many queued events with a body. */
async function queued(accountId: string, count = 1, audioId?: string) {
  const summaries = Array.from({ length: count }, () => aSummary({ accountId, ...(audioId && { audioId }) }))
  for (const summary of summaries) await queueSummary(database.db, summary)
  const ids = summaries.map(({ eventId }) => eventId)
  await database.db.query(`update webhook_events set body = '{"a":"é"}' where id = any ($1)`, [ids])
  return ids
}

async function planned(accountId: string, count = 1, audioId?: string): Promise<AttemptPlan[]> {
  const ids = await queued(accountId, count, audioId)
  return (await planFirstAttempts(database.db, ids)).flatMap(({ plans }) => plans)
}

const onlyOne = <T>(list: readonly T[]): T => {
  const [one, ...others] = list
  if (one === undefined || others.length > 0) throw new Error('exactly one')
  return one
}

const resultOf = (
  { id, eventId, eventType, createdAt, endpoint }: AttemptPlan,
  outcome: FirstResult['outcome'],
): FirstResult => ({
  deliveryId: id,
  endpointId: endpoint.id,
  number: 1,
  outcome,
  urlVersion: endpoint.urlVersion,
  startedAt: NOW,
  finishedAt: later(40),
  eventId,
  eventType,
  createdAt,
})

const rowsOf = async (accountId: string) => {
  const { rows } = await database.db.query<{ id: string; status: number; last_error: string }>(
    `select d.id, d.status, d.last_error from webhook_deliveries d join webhook_events e on e.id = d.event_id
     where e.account_id = $1 order by d.id`,
    [accountId],
  )
  return rows
}

describe('planFirstAttempts', () => {
  it('says what to send to whom, and writes nothing', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const other = await anEndpoint(db, { accountId: endpoint.accountId })
    await anEndpoint(db, { accountId: endpoint.accountId, events: [] })
    const [id] = await queued(endpoint.accountId)
    const event = onlyOne(await planFirstAttempts(db, id ? [id] : []))
    expect(event).toMatchObject({ id, type: 'summary.completed' })
    expect(event.body.toString()).toBe('{"a":"é"}')
    expect(event.plans.map((plan) => plan.endpoint.id).sort()).toEqual([endpoint.id, other.id].sort())
    expect(new Set(event.plans.map((plan) => plan.id)).size).toBe(2)
    expect(await rowsOf(endpoint.accountId)).toEqual([])
    expect(await eventStates(db, [event.id])).toEqual({ [event.id]: 'queued' })
  })

  it('leaves out what has no body, no endpoint, ended, or has a delivery already', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const [bare, dispatched, purged, begun] = await queued(accountId, 4)
    const [alone] = await queued((await anEndpoint(db, { events: [] })).accountId)
    await db.query(`update webhook_events set body = null where id = $1`, [bare])
    await db.query(`update webhook_events set state = 'dispatched', dispatched_at = now() where id = $1`, [
      dispatched,
    ])
    await db.query(`update webhook_events set state = 'purged', body = null where id = $1`, [purged])
    await db.query(
      `insert into webhook_deliveries (endpoint_id, event_id, event_type)
       select id, $1, 'summary.completed' from webhook_endpoints where account_id = $2`,
      [begun, accountId],
    )
    const ids = [bare, dispatched, purged, begun, alone].filter((id) => id !== undefined)
    expect(ids).toHaveLength(5)
    expect(await planFirstAttempts(db, ids)).toEqual([])
  })
})

describe('recordFirstAttempts', () => {
  it('writes a delivery with its result, its log, and the state of its event, in one statement', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const plan = onlyOne(await planned(endpoint.accountId))
    const result = { ...resultOf(plan, DELIVERED), httpStatus: 204 }
    expect(await recordFirstAttempts(db, [result], [plan.eventId])).toEqual([
      {
        deliveryId: plan.id,
        status: 1,
        nextAttemptAt: null,
        lastError: '',
        attempts: 1,
        disabledEndpoint: false,
      },
    ])
    expect(await deliveryState(db, plan.id)).toEqual({
      status: 1,
      attempts: 1,
      last_error: '',
      next_attempt_at: null,
      delivered_at: later(40),
    })
    expect(await listAttempts(db, [plan.id])).toMatchObject([{ number: 1, httpStatus: 204, durationMs: 40 }])
    expect(await eventStates(db, [plan.eventId])).toEqual({ [plan.eventId]: 'dispatched' })
    const { rows } = await db.query('select created_at from webhook_deliveries where id = $1', [plan.id])
    expect(rows).toEqual([{ created_at: plan.createdAt }])
  })

  it('leaves an event queued of which deliveries are missing', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    await anEndpoint(db, { accountId })
    const [one, other] = (await planned(accountId)) as [AttemptPlan, AttemptPlan]
    await recordFirstAttempts(db, [resultOf(one, DELIVERED)], [])
    expect(await eventStates(db, [one.eventId])).toEqual({ [one.eventId]: 'queued' })
    await recordFirstAttempts(db, [resultOf(other, DELIVERED)], [one.eventId])
    expect(await eventStates(db, [one.eventId])).toEqual({ [one.eventId]: 'dispatched' })
  })

  it('schedules the next attempt after a failure, and disables the endpoint at the 20th in a row', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    await setFailures(endpoint, 18)
    const [a, b, c] = (await planned(endpoint.accountId, 3)) as [AttemptPlan, AttemptPlan, AttemptPlan]
    expect(await recordFirstAttempts(db, [resultOf(a, retry())], [a.eventId])).toMatchObject([
      { status: 0, nextAttemptAt: later(60_040), lastError: 'http_500' },
    ])
    const recorded = await recordFirstAttempts(
      db,
      [resultOf(b, retry('timeout')), resultOf(c, retry())],
      [b.eventId, c.eventId],
    )
    expect(recorded.every(({ disabledEndpoint }) => disabledEndpoint)).toBe(true)
    expect(await endpointState(db, endpoint.id)).toMatchObject({ status: 2, consecutive_failures: 21 })
    // Also the one that had been scheduled.
    expect(await rowsOf(endpoint.accountId)).toMatchObject([
      { status: 2, last_error: 'endpoint_disabled' },
      { status: 2, last_error: 'timeout' },
      { status: 2, last_error: 'http_500' },
    ])
  })

  it('ends what failed for a recording that was deleted meanwhile, and keeps what arrived', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const [failed, arrived] = (await planned(accountId, 2, 'rec_gone')) as [AttemptPlan, AttemptPlan]
    await purgeRecording(db, { accountId, audioId: 'rec_gone' })
    const events = [failed.eventId, arrived.eventId]
    await recordFirstAttempts(db, [resultOf(failed, retry()), resultOf(arrived, DELIVERED)], events)
    expect(await deliveryState(db, failed.id)).toMatchObject({ status: 2, last_error: 'recording_deleted' })
    expect(await deliveryState(db, arrived.id)).toMatchObject({ status: 1 })
    expect(Object.values(await eventStates(db, events))).toEqual(['purged', 'purged'])
  })

  it('schedules nothing for an endpoint that was deleted meanwhile', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const plan = onlyOne(await planned(endpoint.accountId))
    await deleteEndpoint(db, endpoint.accountId, endpoint.id)
    await recordFirstAttempts(db, [resultOf(plan, retry())], [plan.eventId])
    expect(await deliveryState(db, plan.id)).toMatchObject({ status: 2, next_attempt_at: null })
  })

  it('counts nothing twice when its answer was lost and it is repeated', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const plan = onlyOne(await planned(endpoint.accountId))
    const result = resultOf(plan, retry())
    await recordFirstAttempts(db, [result], [plan.eventId])
    expect(await recordFirstAttempts(db, [result], [plan.eventId])).toEqual([])
    expect(await recordAttempts(db, [result])).toMatchObject([
      { status: 0, nextAttemptAt: later(60_040), lastError: 'http_500' },
    ])
    expect((await endpointState(db, endpoint.id)).consecutive_failures).toBe(1)
    expect(await listAttempts(db, [plan.id])).toHaveLength(1)
  })

  it('gives an event one delivery for each endpoint when many processes attempt it at once', async () => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const [id] = await queued(endpoint.accountId)
    const plans = await Promise.all(
      Array.from({ length: 8 }, async () =>
        onlyOne(onlyOne(await planFirstAttempts(db, id ? [id] : [])).plans),
      ),
    )
    const recorded = await behindLock(
      db,
      (tx) => tx.query(`select from webhook_events where id = $1 for update`, [id]),
      8,
      () =>
        Promise.all(
          plans.map((plan) => recordFirstAttempts(db, [resultOf(plan, DELIVERED)], [plan.eventId])),
        ),
    )
    const winners = recorded.flat()
    expect(winners).toHaveLength(1)
    expect(await rowsOf(endpoint.accountId)).toEqual([
      { id: winners[0]?.deliveryId, status: 1, last_error: '' },
    ])
    expect(
      await listAttempts(
        db,
        plans.map((plan) => plan.id),
      ),
    ).toHaveLength(1)
  })

  it('writes what is not there yet and nothing else, whoever comes first', async () => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    await anEndpoint(db, { accountId })
    const [slow, fast] = (await planned(accountId)) as [AttemptPlan, AttemptPlan]
    await recordFirstAttempts(db, [resultOf(fast, DELIVERED)], [])
    await writeDeliveries(db, [slow, fast], NOW)
    expect(await rowsOf(accountId)).toMatchObject(
      [
        { id: slow.id, status: 0 },
        { id: fast.id, status: 1 },
      ].sort((a, b) => Number(a.id) - Number(b.id)),
    )
    expect(await recordFirstAttempts(db, [resultOf(slow, DELIVERED)], [slow.eventId])).toEqual([])
    expect(await recordAttempts(db, [resultOf(slow, DELIVERED)])).toMatchObject([{ status: 1 }])
  })

  it.each<[string, (db: Tx, endpoint: Endpoint) => Promise<unknown>]>([
    [
      'its deletion',
      async (tx, { accountId }) => {
        await closeAccount(tx, accountId)
        while ((await deleteAccountEvents(tx, accountId, 2)) > 0);
        await deleteAccountEndpoints(tx, accountId)
      },
    ],
    ['the deletion of its event', (tx, { accountId }) => deleteAccountEvents(tx, accountId, 10)],
  ])('leaves no row of an account behind after %s', async (_what, remove) => {
    const { db } = database
    const endpoint = await anEndpoint(db)
    const plan = onlyOne(await planned(endpoint.accountId))
    await behindLock(
      db,
      (tx) => remove(tx, endpoint),
      1,
      () => recordFirstAttempts(db, [resultOf(plan, retry())], [plan.eventId]),
    )
    await writeDeliveries(db, [plan], NOW)
    const { rows } = await db.query(
      `select id::text from webhook_deliveries where id = $1
       union all select delivery_id::text from webhook_attempts where delivery_id = $1
       union all select event_id from webhook_first_attempts where event_id = $2`,
      [plan.id, plan.eventId],
    )
    expect(rows).toEqual([])
  })

  it.each<[string, (accountId: string) => Promise<unknown>]>([
    ['closes', (accountId) => closeAccount(database.db, accountId)],
    [
      'deletes',
      async (accountId) => {
        while ((await deleteAccountEvents(database.db, accountId, 10)) > 0);
      },
    ],
  ])('never waits for a statement that waits for it and %s its account', async (what, act) => {
    const { db } = database
    const { accountId } = await anEndpoint(db)
    const plans = (await planned(accountId, 3)).sort((a, b) => (a.eventId < b.eventId ? -1 : 1))
    if (what === 'deletes') await closeAccount(db, accountId)
    const middle = plans[1] as AttemptPlan
    await behindLock(
      db,
      (tx) => tx.query(`select from webhook_events where id = $1 for update`, [middle.eventId]),
      2,
      () =>
        Promise.all([
          recordFirstAttempts(
            db,
            plans.map((plan) => resultOf(plan, retry())),
            plans.map(({ eventId }) => eventId),
          ),
          act(accountId),
        ]),
    )
    const left = await rowsOf(accountId)
    expect(left.filter(({ status }) => status === 0)).toEqual([])
    if (what === 'deletes') expect(left).toEqual([])
  })

  it('neither deadlocks with purges, deletions and results of later attempts, nor loses a count', async () => {
    const { db } = database
    const endpoints = await Promise.all(Array.from({ length: 6 }, () => anEndpoint(db)))
    const byEndpoint = await Promise.all(
      endpoints.map(({ accountId }, i) => planned(accountId, 30, i === 1 ? 'rec_purged' : undefined)),
    )
    const [closed, purged, deleted, ...others] = endpoints as [Endpoint, Endpoint, Endpoint, ...Endpoint[]]
    const batches = Array.from({ length: 30 }, (_, i) => {
      const batch = byEndpoint.map((plans) => plans[i] as AttemptPlan)
      return i % 2 ? batch.reverse() : batch
    })
    const close = async () => {
      await closeAccount(db, closed.accountId)
      while ((await deleteAccountEvents(db, closed.accountId, 5)) > 0);
      await deleteAccountEndpoints(db, closed.accountId)
    }
    const retryWhileUnavailable: RetryWhileUnavailable = (work) => work()
    const recorders = Array.from({ length: 6 }, () => new ResultRecorder({ db, retryWhileUnavailable }))
    await Promise.all([
      ...batches.flatMap((plans, i) =>
        plans.map(async (plan) => {
          const event = new UnwrittenEvent(plan.eventId, [plan], (all) => writeDeliveries(db, all, NOW))
          const written = i % 3 === 0 ? event.write() : undefined
          await recorders[i % recorders.length]?.record(resultOf(plan, retry()), { plan, event })
          await written
        }),
      ),
      close(),
      purgeRecording(db, { accountId: purged.accountId, audioId: 'rec_purged' }),
      deleteEndpoint(db, deleted.accountId, deleted.id),
    ])
    for (const { id } of others)
      expect(await endpointState(db, id)).toMatchObject({ status: 2, consecutive_failures: 30 })
    const { rows } = await db.query(
      `select id from webhook_deliveries where status = 0 and endpoint_id = any ($1)`,
      [others.map(({ id }) => id)],
    )
    expect(rows).toEqual([])
    expect(await rowsOf(closed.accountId)).toEqual([])
  })
})
