import type { EventId } from '@signet/webhook-core'
import type { DeliveryJob } from '@signet/webhook-core/queue'
import { TestClock } from '@signet/testkit'
import {
  deliveriesOf,
  dispatchInRows,
  startDispatcher,
  type DeliveryRow,
  type DispatcherOptions,
  type TestDispatcher,
} from './dispatcher.js'
import type { Subscriber } from './subscriber.js'

export type Stepwise = TestDispatcher & {
  clock: TestClock
  /** Makes the deliveries of an event, as the worker would, but not their first attempts. */
  dispatched(subscriber: Subscriber): Promise<DeliveryRow[]>
  /** Also puts the deliveries into the queue, as if there had been no permits for their first attempts. */
  scheduled(subscriber: Subscriber): Promise<DeliveryRow[]>
  /** Runs the jobs of these deliveries now, all at once. */
  attempt(...rows: DeliveryRow[]): Promise<void>
  row(id: string): Promise<DeliveryRow>
}

/** Starts a dispatcher whose workers do not run: tests take each step themselves, and move its clock. */
export async function startStepwise({ ports, ...options }: DispatcherOptions = {}): Promise<Stepwise> {
  const clock = new TestClock()
  const dispatcher = await startDispatcher({
    ...options,
    start: false,
    ports: { now: clock.now, random: () => 0, ...ports },
  })
  const { db, attempts, firstAttempts, canceller } = dispatcher
  const rowsOf = async (subscriber: Subscriber, eventId: EventId) => {
    const rows = await deliveriesOf(db, subscriber.accountId)
    return rows.filter(({ event_id }) => event_id === eventId)
  }
  return {
    ...dispatcher,
    clock,
    async dispatched(subscriber) {
      const eventId = await subscriber.summary()
      await dispatchInRows(dispatcher, eventId)
      return rowsOf(subscriber, eventId)
    },
    async scheduled(subscriber) {
      const eventId = await subscriber.summary()
      await dispatchInRows(dispatcher, eventId)
      // The second run finds the deliveries that the first one left behind.
      await firstAttempts.run(eventId, await dispatchInRows(dispatcher, eventId))
      return rowsOf(subscriber, eventId)
    },
    async attempt(...rows) {
      await Promise.all(rows.map((row) => attempts.run(jobOf(row), { wasDeferred: false })))
      await canceller.finished()
    },
    async row(id) {
      const { rows } = await db.query<DeliveryRow>(
        `select id, endpoint_id, event_id, status, attempts, last_error, next_attempt_at, delivered_at
         from webhook_deliveries where id = $1`,
        [id],
      )
      const [row] = rows
      if (!row) throw new Error(`no delivery ${id}`)
      return row
    },
  }
}

export const jobOf = ({ id, endpoint_id }: DeliveryRow) =>
  ({ deliveryId: id, endpointId: endpoint_id, accountId: 'any' }) as unknown as DeliveryJob
