import { expect, it } from '@jest/globals'
import { useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { anEndpoint, NOW } from '@signet/webhook-testkit'
import { ResultRecorder } from '../../src/attempts/result-recorder.js'
import { UnwrittenEvent } from '../../src/attempts/unwritten-event.js'
import type { RetryWhileUnavailable } from '../../src/database/retry-while-unavailable.js'
import { recordFirstAttempts } from '../../src/deliveries/attempt-store.js'
import type { AttemptPlan } from '../../src/deliveries/delivery-store.js'
import { FirstAttempts } from '../../src/dispatching/first-attempts.js'
import { writeDeliveries } from '../../src/dispatching/first-attempt-store.js'
import { eventStates } from '../support/deliveries.js'
import { DELIVERED, firstResultsIn, resultOf } from '../support/first-results.js'

const database = useWebhooksDatabase()
const { planned, plansWithOneId, rowsOf } = firstResultsIn(database)
const retryWhileUnavailable: RetryWhileUnavailable = (work) => work()

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
        await recorder.record(resultOf(plan, DELIVERED), event && { plan, event })
        return { kind: 'finished' }
      },
      reportLostFirst: () => Promise.reject(new Error('none is lost')),
    },
    queues: { addDeliveries: () => Promise.resolve() },
    bodies: { drop: () => undefined },
    retryWhileUnavailable,
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
  const recorder = new ResultRecorder({ db, retryWhileUnavailable })
  const outcome = { created: plans, unwritten: event, unfinished: [], readAt: 0 }
  // In one batch: all are added before anything else happens.
  const settled = await Promise.allSettled([
    recorder.record(resultOf(late, DELIVERED), { plan: late, event: unwritten([late]) }),
    succeeding(recorder).run(event.id, outcome),
  ])
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  expect(await rowsOf(accountId)).toMatchObject([{ status: 1 }, { status: 1 }])
  expect(await eventStates(db, [event.id])).toEqual({ [event.id]: 'dispatched' })
})
