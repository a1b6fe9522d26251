import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import type { Tx } from '@signet/db'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import { waitFor } from '@signet/testkit'
import type { EventId } from '@signet/webhook-core'
import { FirstAttempts } from '../src/dispatching/first-attempts.js'
import { deliveriesOf, dispatchInRows, startDispatcher, type TestDispatcher } from './support/dispatcher.js'
import type { Subscriber } from './support/subscriber.js'

let receiver: Receiver
let dispatcher: TestDispatcher
beforeAll(async () => {
  receiver = await startReceiver()
  dispatcher = await startDispatcher({ ports: { ca: receiver.authorityCert } })
})
afterAll(async () => {
  await dispatcher.stop()
  await receiver.close()
})

const untilDelivered = (accountId: string) =>
  waitFor(async () => (await deliveriesOf(dispatcher.db, accountId)).some(({ status }) => status === 1))

it('records results of other accounts while one has a locked endpoint, without using up the time of a statement', async () => {
  const { db, logLines } = dispatcher
  const [locked, other] = [dispatcher.subscriber(), dispatcher.subscriber()]
  const { id } = await locked.endpoint(receiver.url('/locked'))
  await other.endpoint(receiver.url('/other'))
  await db.transaction(async (tx) => {
    await tx.query('select from webhook_endpoints where id = $1 for update', [id])
    await locked.summary()
    await waitFor(() => receiver.deliveries({ path: '/locked' }).length === 1)
    await other.summary()
    await untilDelivered(other.accountId)
  })
  await untilDelivered(locked.accountId)
  const timeouts = logLines.filter(({ msg }) => String(msg).startsWith('recording results timed out'))
  expect(timeouts.length).toBeGreaterThan(0)
  expect(JSON.stringify(timeouts)).not.toContain('statement timeout')
})

describe('while a row of one account is locked', () => {
  /** Publishes an event that `tx` holds, and waits until the statement that dispatches it was sent. */
  async function heldEvent(
    tx: Tx,
    commit: (subscriber: Subscriber) => Promise<EventId>,
  ): Promise<Subscriber> {
    const subscriber = dispatcher.subscriber()
    const eventId = await commit(subscriber.withoutQueues())
    await tx.query('select from webhook_events where id = $1 for update', [eventId])
    const query = jest.spyOn(dispatcher.db, 'query')
    await dispatcher.queues.addEvents([{ id: eventId, accountId: subscriber.accountId }])
    // The statement's third parameter lists the events whose bodies it writes.
    await waitFor(() => query.mock.calls.some(([, values]) => [values?.[2]].flat().includes(eventId)))
    query.mockRestore()
    return subscriber
  }

  const ping = async (subscriber: Subscriber) =>
    subscriber.ping((await subscriber.endpoint(receiver.url('/pings'), ['webhook.ping'])).id)

  const unprepared = async (subscriber: Subscriber) => {
    await subscriber.endpoint(receiver.url('/summaries'))
    return subscriber.summary({ recording: { title: 'Weekly sync' } })
  }

  it.each<[string, typeof ping]>([
    ['a ping', ping],
    ['an event without a body', unprepared],
  ])('delivers %s of another, and its own once it is free', async (_what, commit) => {
    const locked = await dispatcher.db.transaction(async (tx) => {
      const held = await heldEvent(tx, commit)
      const other = dispatcher.subscriber()
      await commit(other)
      await untilDelivered(other.accountId)
      expect(await deliveriesOf(dispatcher.db, held.accountId)).toEqual([])
      return held
    })
    await untilDelivered(locked.accountId)
    expect(dispatcher.logLines.filter(({ msg }) => String(msg).startsWith('job failed'))).toEqual([])
  })

  it.each([
    ['endpoint', 'select from webhook_endpoints where id = $1 for update'],
    ['delivery', 'select from webhook_deliveries where endpoint_id = $1 for update'],
  ])(
    'schedules deliveries of another that got no permit, and its own at last: its %s',
    async (_row, lock) => {
      const { db } = dispatcher
      const added: string[] = []
      const failures: unknown[] = []
      const firstAttempts = new FirstAttempts({
        db,
        attempts: { runFirst: () => Promise.resolve({ kind: 'defer', delayMs: 60_000 }) },
        lostRuns: { reportFirst: () => Promise.reject(new Error('nothing was lost')) },
        queues: { addDeliveries: (due) => Promise.resolve(void added.push(...due.map(({ id }) => id))) },
        bodies: { drop: () => undefined, firstAttemptsEnded: () => undefined },
        retryWhileUnavailable: (work) =>
          work().catch((error: unknown) => {
            failures.push(error)
            throw error
          }),
        now: () => new Date(),
      })
      const [locked, other] = [dispatcher.subscriber(), dispatcher.subscriber()]
      const { id } = await locked.endpoint(receiver.url('/locked'))
      await other.endpoint(receiver.url('/other'))
      const dispatched = async (subscriber: Subscriber) => {
        const eventId = await subscriber.withoutQueues().summary()
        return { eventId, outcome: await dispatchInRows(dispatcher, eventId) }
      }
      const [held, beside] = [await dispatched(locked), await dispatched(other)]
      const idOf = ({ outcome }: typeof held) => outcome.created[0]?.id
      const running = await db.transaction(async (tx) => {
        await tx.query(lock, [id])
        const started = firstAttempts.run(held.eventId, held.outcome)
        await firstAttempts.run(beside.eventId, beside.outcome)
        expect(added).toContain(idOf(beside))
        return { started }
      })
      await running.started
      expect(failures).toEqual([])
      expect(added.toSorted()).toEqual([idOf(held), idOf(beside)].toSorted())
      for (const { accountId } of [locked, other])
        expect(await deliveriesOf(db, accountId)).toMatchObject([{ next_attempt_at: expect.any(Date) }])
    },
  )
})
