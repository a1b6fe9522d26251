import { expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint, NOW } from '@signet/webhook-testkit'
import { ResultRecorder } from '../../src/attempts/result-recorder.js'
import { UnwrittenEvent } from '../../src/attempts/unwritten-event.js'
import { retryWhileUnavailable as retrying } from '../../src/database/retry-while-unavailable.js'
import { recordFirstAttempts } from '../../src/deliveries/attempt-store.js'
import type { AttemptPlan } from '../../src/deliveries/delivery-store.js'
import { FirstAttempts } from '../../src/dispatching/first-attempts.js'
import { writeDeliveries } from '../../src/dispatching/first-attempt-store.js'
import { aRecorder, eventStates } from '../support/deliveries.js'
import { DELIVERED, firstResultsIn, onlyOne, resultOf } from '../support/first-results.js'

const database = useWebhooksDatabase()
const { planned, plansWithOneId, rowsOf } = firstResultsIn(database)

const unwritten = (plans: readonly AttemptPlan[]) => {
  const [plan] = plans
  if (!plan) throw new Error('a plan')
  return new UnwrittenEvent(plan.eventId, plans, (all) => writeDeliveries(database.db, all, NOW))
}

/** First attempts that all succeed. */
function succeeding(recorder: ResultRecorder) {
  return new FirstAttempts({
    db: database.db,
    attempts: {
      async runFirst(plan, { unwritten: event }) {
        await recorder.record(resultOf(plan, DELIVERED), plan.endpoint.accountId, event && { plan, event })
        return { kind: 'finished' }
      },
      reportLostFirst: () => Promise.reject(new Error('none is lost')),
    },
    queues: { addDeliveries: () => Promise.resolve() },
    bodies: { drop: () => undefined },
    retryWhileUnavailable: (work) => work(),
    now: () => NOW,
  })
}

it('makes an event dispatched whose results are recorded one by one, because the result of another cannot be', async () => {
  const { db } = database
  const { written, late } = await plansWithOneId()
  await recordFirstAttempts(db, [resultOf(written, DELIVERED)], [written.eventId])
  const { accountId } = await anEndpoint(db)
  await anEndpoint(db, { accountId })
  const plans = await planned(accountId)
  const event = unwritten(plans)
  const recorder = aRecorder(db)
  const outcome = { created: plans, unwritten: event, unfinished: [], readAt: 0 }
  // In one batch: all are added before anything else happens.
  const settled = await Promise.allSettled([
    recorder.record(resultOf(late, DELIVERED), 'any', { plan: late, event: unwritten([late]) }),
    succeeding(recorder).run(event.id, outcome),
  ])
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  expect(await rowsOf(accountId)).toMatchObject([{ status: 1 }, { status: 1 }])
  expect(await eventStates(db, [event.id])).toEqual({ [event.id]: 'dispatched' })
})

it('records results beside one that times out again and again, and it as soon as it can', async () => {
  const { db } = database
  const { signal } = new AbortController()
  const recorder = new ResultRecorder({
    db,
    retryWhileUnavailable: (work) => retrying(work, { stop: signal }),
    retryTimeouts: (work) => retrying(work, { stop: signal, retryTimeouts: true }),
  })
  const blocked = await anEndpoint(db)
  const [one, two] = (await planned(blocked.accountId, 2)) as [AttemptPlan, AttemptPlan]
  const others = await Promise.all(
    [1, 2].map(async () => onlyOne(await planned((await anEndpoint(db)).accountId))),
  )
  const [beside, later] = others as [AttemptPlan, AttemptPlan]
  const record = (plan: AttemptPlan) =>
    recorder.record(resultOf(plan, DELIVERED), plan.endpoint.accountId, { plan, event: unwritten([plan]) })

  const { held } = await db.transaction(async (tx) => {
    await tx.query(`select from webhook_endpoints where id = $1 for update`, [blocked.id])
    const first = record(one)
    const together = record(beside)
    await timeOut()
    expect(await together).toMatchObject({ status: 1 })
    // The first waits again, alone. What comes for its account does not get into a batch any more.
    const second = record(two)
    expect(await record(later)).toMatchObject({ status: 1 })
    await timeOut()
    return { held: [first, second] }
  })
  expect(await Promise.all(held)).toMatchObject([{ status: 1 }, { status: 1 }])
})

/** What the time limit of statements does, and with the same code: to the one that waits for a lock. */
async function timeOut(): Promise<void> {
  await waitFor(async () => {
    const { rows } = await database.db.query(
      `select pg_cancel_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  })
}
