import type { Db } from '@signet/db'
import { aSummary, later, NOW, queueSummary } from '@signet/webhook-testkit'
import type { DeliveryId, EndpointId, EventId } from '@signet/webhook-core'
import type { Endpoint } from '@signet/webhook-core/stores'
import { ResultRecorder, type RecorderOptions } from '../../src/attempts/result-recorder.js'
import type { RetryWhileUnavailable } from '../../src/database/retry-while-unavailable.js'
import type { AttemptResult, Outcome } from '../../src/deliveries/attempt-store.js'
import { type Dispatched, dispatchEvents } from '../../src/dispatching/dispatch-store.js'
import { concludeFirstAttempts, scheduleDeliveries } from '../../src/dispatching/first-attempt-store.js'

export async function eventStates(db: Db, ids: readonly EventId[]): Promise<Record<EventId, string>> {
  const { rows } = await db.query<{ id: EventId; state: string }>(
    'select id, state from webhook_events where id = any ($1)',
    [ids],
  )
  return Object.fromEntries(rows.map(({ id, state }) => [id, state]))
}

export type TestDelivery = { id: DeliveryId; endpointId: EndpointId; eventId: EventId }

export const deliveriesIn = ({ created }: Dispatched): TestDelivery[] =>
  created.map(({ id, endpoint, eventId }) => ({ id, endpointId: endpoint.id, eventId }))

/** Dispatches `count` events of the endpoint's account: one delivery each, whose first attempt is under way. */
export async function openDeliveries(db: Db, endpoint: Endpoint, count: number): Promise<TestDelivery[]> {
  const summaries = Array.from({ length: count }, () => aSummary({ accountId: endpoint.accountId }))
  for (const summary of summaries) await queueSummary(db, summary)
  const made = await dispatchEvents(
    db,
    summaries.map(({ eventId }) => ({ id: eventId, body: `{"id":"${eventId}"}` })),
    NOW,
  )
  return deliveriesIn(made).filter(({ endpointId }) => endpointId === endpoint.id)
}

/** Opens deliveries, and schedules them for `NOW`. */
export async function pendingDeliveries(db: Db, endpoint: Endpoint, count: number): Promise<TestDelivery[]> {
  const deliveries = await openDeliveries(db, endpoint, count)
  await scheduleDeliveries(
    db,
    deliveries.map(({ id }) => id),
    NOW,
  )
  await concludeFirstAttempts(
    db,
    deliveries.map(({ eventId }) => eventId),
  )
  return deliveries
}

export const retry = (error: Extract<Outcome, { kind: 'retry' }>['error'] = 'http_500'): Outcome => ({
  kind: 'retry',
  error,
  delayMs: 60_000,
})

/** A recorder that repeats nothing. */
export const aRecorder = (db: Db, options: Pick<RecorderOptions, 'onDisabled'> = {}) =>
  new ResultRecorder({ db, dbApart: db, retryWhileUnavailable: once, retryTimeouts: once, ...options })

const once: RetryWhileUnavailable = (work) => work()

export const aResult = (
  delivery: TestDelivery,
  outcome: Outcome,
  overrides: Partial<AttemptResult> = {},
): AttemptResult => ({
  deliveryId: delivery.id,
  endpointId: delivery.endpointId,
  eventId: delivery.eventId,
  number: 1,
  key: 1,
  outcome,
  urlVersion: 1,
  startedAt: NOW,
  finishedAt: later(40),
  ...overrides,
})
