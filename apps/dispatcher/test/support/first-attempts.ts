import { afterAll, beforeAll, beforeEach, jest } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { startReceiver, type Receiver } from '@signet/testkit/receiver'
import type { EventId } from '@signet/webhook-core'
import { findOpenFirstAttempts } from '../../src/dispatching/first-attempt-store.js'
import { dispatchEvent } from './dispatcher.js'
import { startStepwise, type Stepwise } from './stepwise.js'
import type { Subscriber } from './subscriber.js'

/**
 * Gives the tests of a file a dispatcher that sends one attempt to an endpoint at a time, and each test a new account and an empty queue.
 */
export function useFirstAttempts() {
  let started: { receiver: Receiver; dispatcher: Stepwise } | undefined
  let subscriber: Subscriber | undefined
  const rig = () => {
    if (!started || !subscriber) throw new Error('a rig belongs to a test')
    return { ...started, subscriber }
  }
  beforeAll(async () => {
    const receiver = await startReceiver()
    const dispatcher = await startStepwise({
      env: { DISPATCHER_ENDPOINT_CONCURRENCY: '1' },
      ports: { ca: receiver.authorityCert },
    })
    started = { receiver, dispatcher }
  })
  beforeEach(async () => {
    await started?.dispatcher.queues.deliveries.obliterate({ force: true })
    subscriber = started?.dispatcher.subscriber()
  })
  afterAll(async () => {
    await started?.dispatcher.stop()
    await started?.receiver.close()
  })

  return {
    get receiver() {
      return rig().receiver
    },
    get dispatcher() {
      return rig().dispatcher
    },
    get subscriber() {
      return rig().subscriber
    },

    /** Does everything that the event's job does. */
    run: async (eventId?: EventId): Promise<EventId> => {
      const { dispatcher, subscriber } = rig()
      eventId ??= await subscriber.summary()
      await dispatcher.firstAttempts.run(eventId, await dispatchEvent(dispatcher, eventId))
      await dispatcher.firstAttempts.concluded()
      return eventId
    },

    rowOf: async (eventId: string) => {
      const { dispatcher } = rig()
      const { rows } = await dispatcher.db.query<{ id: string }>(
        `select id from webhook_deliveries where event_id = $1`,
        [eventId],
      )
      return dispatcher.row(rows[0]?.id ?? '0')
    },

    stateOf: async (eventId: string) => {
      const { rows } = await rig().dispatcher.db.query<{ state: string; deliveries: number }>(
        `select state, (select count(*)::integer from webhook_deliveries d where d.event_id = e.id) as deliveries
         from webhook_events e where id = $1`,
        [eventId],
      )
      return rows[0]
    },

    jobs: () => rig().dispatcher.queues.deliveries.getJobs(),

    isOpen: async (eventId: string): Promise<boolean> => {
      const { db, clock } = rig().dispatcher
      const before = new Date(clock.now().getTime() + 1)
      const open = await findOpenFirstAttempts(db, { before, limit: 1000 })
      return open.some(({ id }) => id === eventId)
    },

    /** Resolves once a running dispatch has skipped an event because a transaction of the test holds it. */
    untilLeftOut: async (): Promise<void> => {
      const { db } = rig().dispatcher
      const query = jest.spyOn(db, 'query')
      const isLeftOut = (row: object) => 'kind' in row && row.kind === 'locked'
      await waitFor(async () => {
        const answers = (await Promise.all(query.mock.results.map(({ value }) => value))) as {
          rows: object[]
        }[]
        return answers.some(({ rows }) => rows.some(isLeftOut))
      }).finally(() => query.mockRestore())
    },
  }
}
