import { createHash, randomUUID } from 'node:crypto'
import { type Db } from '@signet/db'
import {
  concludeFirstAttempts,
  dispatchEvents,
  ingestSummary,
  insertEndpoint,
  newEventId,
  scheduleDeliveries,
  type AttemptResult,
  type DeliveryId,
  type Dispatched,
  type Endpoint,
  type EndpointId,
  type EventId,
  type IngestedSummary,
  type Outcome,
} from '../../src/index.js'

export const NOW = new Date('2030-01-01T10:00:00.000Z')
export const later = (ms: number): Date => new Date(NOW.getTime() + ms)

export const anAccount = (): string => randomUUID()

export async function anEndpoint(
  db: Db,
  {
    accountId = anAccount(),
    url = 'https://example.com/hook',
    events = ['summary.completed'],
    max = 1000,
  } = {},
): Promise<Endpoint> {
  const endpoint = await db.transaction((tx) =>
    insertEndpoint(tx, {
      accountId,
      url,
      href: new URL(url).href,
      events,
      maxPerAccount: max,
      seal: (id) => ({ keyId: 'k1', ciphertext: Buffer.from(`sealed for ${id}`) }),
    }),
  )
  if (endpoint === null) throw new Error('no place left')
  return endpoint
}

export function aSummary(overrides: Partial<IngestedSummary> & { accountId: string }): IngestedSummary {
  const sourceEventKey = overrides.sourceEventKey ?? `summary:${randomUUID()}`
  return {
    eventId: newEventId(new Date()),
    audioId: 'rec_1001',
    source: 'pipeline',
    sourceEventKey,
    sourceHash: createHash('sha256').update(sourceEventKey).digest(),
    ...overrides,
  }
}

export type TestDelivery = { id: DeliveryId; endpointId: EndpointId; eventId: EventId }

export const deliveriesIn = ({ created }: Dispatched): TestDelivery[] =>
  created.map(({ id, endpoint, eventId }) => ({ id, endpointId: endpoint.id, eventId }))

/** So many events of the endpoint's account, dispatched: one delivery each, whose first attempt is under way. */
export async function openDeliveries(db: Db, endpoint: Endpoint, count: number): Promise<TestDelivery[]> {
  const summaries = Array.from({ length: count }, () => aSummary({ accountId: endpoint.accountId }))
  for (const summary of summaries) await ingestSummary(db, summary)
  const made = await dispatchEvents(
    db,
    summaries.map(({ eventId }) => ({ id: eventId, body: `{"id":"${eventId}"}` })),
    NOW,
  )
  return deliveriesIn(made).filter(({ endpointId }) => endpointId === endpoint.id)
}

/** The same, due at `NOW` in the schedule. */
export async function pendingDeliveries(db: Db, endpoint: Endpoint, count: number): Promise<TestDelivery[]> {
  const deliveries = await openDeliveries(db, endpoint, count)
  await scheduleDeliveries(db, deliveries, NOW)
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

export const aResult = (
  delivery: TestDelivery,
  outcome: Outcome,
  overrides: Partial<AttemptResult> = {},
): AttemptResult => ({
  deliveryId: delivery.id,
  endpointId: delivery.endpointId,
  number: 1,
  outcome,
  urlVersion: 1,
  startedAt: NOW,
  finishedAt: later(40),
  ...overrides,
})

export type DeliveryState = {
  status: number
  attempts: number
  last_error: string
  next_attempt_at: Date | null
  delivered_at: Date | null
}

export async function deliveryState(db: Db, id: DeliveryId): Promise<DeliveryState> {
  const { rows } = await db.query<DeliveryState>(
    `select status, attempts, last_error, next_attempt_at, delivered_at from webhook_deliveries where id = $1`,
    [id],
  )
  if (!rows[0]) throw new Error(`no delivery ${id}`)
  return rows[0]
}

export type EndpointState = {
  status: number
  consecutive_failures: number
  updated_at: Date
  url_version: number
}

export async function endpointState(db: Db, id: EndpointId): Promise<EndpointState> {
  const { rows } = await db.query<EndpointState>(
    `select status, consecutive_failures, updated_at, url_version from webhook_endpoints where id = $1`,
    [id],
  )
  if (!rows[0]) throw new Error(`no endpoint ${id}`)
  return rows[0]
}

export async function countRows(db: Db, table: string, column: string, value: unknown): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::integer as n from ${table} where ${column} = $1`,
    [value],
  )
  return rows[0]?.n ?? -1
}
