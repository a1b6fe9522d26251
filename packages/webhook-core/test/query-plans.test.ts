import { beforeAll, describe, expect, it } from '@jest/globals'
import { type Queryable, type Tx } from '@signet/db'
import { plansOf } from '@signet/testkit'
import {
  closeAccount,
  concludeFirstAttempts,
  countDisabledEndpoints,
  deleteAccountEndpoints,
  deleteAccountEvents,
  deleteEndpoint,
  deleteOldEndpoints,
  deleteOldEvents,
  DeliveryPager,
  dispatchEvents,
  findAttemptPlans,
  findBodies,
  findDeliveryReport,
  findEndpoint,
  findEvents,
  findForgottenEvents,
  findOverdueDeliveries,
  findRecentBodies,
  findRecentlySummarised,
  findRecordings,
  findReplayable,
  findSummaries,
  findTranscripts,
  ingestSummary,
  insertEndpoint,
  insertPing,
  listAttempts,
  listDisabledEndpoints,
  listEndpoints,
  newEventId,
  patchEndpoint,
  purgeRecording,
  readBacklog,
  readUndispatched,
  recordAttempts,
  replayDeliveries,
  scheduleDeliveries,
  type DeliveryId,
  type EndpointId,
  type EventId,
} from '../src/index.js'
import { useDatabase } from './support/database.js'
import { aResult, aSummary, NOW, retry } from './support/fixtures.js'
import { fillTables } from './support/large-tables.js'

const database = useDatabase()
let accountId: string
let endpointId: EndpointId
let eventIds: EventId[]
let deliveryIds: DeliveryId[]
beforeAll(async () => {
  ;({ accountId, endpointId, eventIds, deliveryIds } = await fillTables(database.db))
})

const refs = () => Array.from({ length: 50 }, (_, i) => ({ accountId, audioId: `rec_${i}` }))

const hotQueries: [name: string, run: (db: Queryable) => Promise<unknown>, indexes: string[]][] = [
  ['listing endpoints', (db) => listEndpoints(db, accountId), ['webhook_endpoints_account_idx']],
  [
    'counting endpoints for the quota',
    (db) =>
      insertEndpoint(db as Tx, {
        accountId,
        url: 'https://example.com/',
        href: 'https://example.com/',
        events: [],
        maxPerAccount: 0,
        seal: () => ({ keyId: 'k1', ciphertext: Buffer.of() }),
      }),
    ['webhook_endpoints_account_idx'],
  ],
  ['counting disabled endpoints', countDisabledEndpoints, ['webhook_endpoints_disabled_idx']],
  ['finding an endpoint', (db) => findEndpoint(db, accountId, endpointId), ['webhook_endpoints_account_idx']],
  [
    'patching an endpoint',
    (db) => patchEndpoint(db, accountId, endpointId, { events: ['summary.completed'] }),
    ['webhook_endpoints_account_idx'],
  ],
  [
    'queueing a ping',
    (db) => insertPing(db, { eventId: newEventId(new Date()), accountId, endpointId }),
    ['webhook_endpoints_account_idx'],
  ],
  [
    'recognising a repeated ingest',
    (db) =>
      ingestSummary(
        db,
        aSummary({ accountId, sourceEventKey: 'key:7', summaries: [], recording: {}, transcript: null }),
      ),
    ['summaries_pkey', 'transcripts_pkey', 'webhook_events_source_key_idx'],
  ],
  ['reading recordings', (db) => findRecordings(db, refs()), ['recordings_pkey']],
  ['reading transcripts', (db) => findTranscripts(db, refs()), ['transcripts_pkey']],
  ['reading summaries', (db) => findSummaries(db, refs()), ['summaries_pkey']],
  ['samples from the mirror', (db) => findRecentlySummarised(db, accountId, 3), ['summaries_recent_idx']],
  [
    'samples from events',
    (db) => findRecentBodies(db, accountId, 'summary.completed', 3),
    ['webhook_events_samples_idx'],
  ],
  ['reading events', (db) => findEvents(db, eventIds), ['webhook_events_pkey']],
  ['reading bodies', (db) => findBodies(db, eventIds), ['webhook_events_pkey']],
  [
    'dispatching events',
    (db) =>
      dispatchEvents(
        db,
        eventIds.slice(0, 20).map((id) => ({ id, body: '{}' })),
        NOW,
      ),
    ['webhook_deliveries_event_endpoint_idx', 'webhook_endpoints_account_idx', 'webhook_events_pkey'],
  ],
  [
    'planning attempts',
    (db) => findAttemptPlans(db, deliveryIds),
    ['webhook_deliveries_pkey', 'webhook_endpoints_pkey', 'webhook_events_pkey'],
  ],
  [
    'recording attempts, disabling included',
    (db) =>
      recordAttempts(
        db,
        deliveryIds.map((id, i) => aResult({ id, endpointId, eventId: eventIds[i] as EventId }, retry())),
      ),
    ['webhook_deliveries_pending_idx', 'webhook_deliveries_pkey', 'webhook_endpoints_pkey'],
  ],
  ['listing attempts', (db) => listAttempts(db, deliveryIds[0] as DeliveryId), ['webhook_attempts_pkey']],
  [
    'scheduling deliveries',
    (db) =>
      scheduleDeliveries(
        db,
        deliveryIds.map((id) => ({ id, endpointId })),
        NOW,
      ),
    ['webhook_deliveries_pkey', 'webhook_endpoints_pkey'],
  ],
  [
    'concluding first attempts',
    (db) => concludeFirstAttempts(db, eventIds),
    ['webhook_deliveries_event_endpoint_idx'],
  ],
  [
    'sweeping events',
    (db) => findForgottenEvents(db, { before: new Date(), limit: 100 }),
    ['webhook_events_queued_idx'],
  ],
  [
    'sweeping deliveries',
    (db) => findOverdueDeliveries(db, { before: new Date(), limit: 100 }),
    ['webhook_deliveries_due_idx'],
  ],
  [
    'the first pages of the log',
    (db) => new DeliveryPager(db).page({ accountId, endpointId }, { page: 3, pageSize: 20 }),
    ['webhook_deliveries_log_idx', 'webhook_deliveries_pkey'],
  ],
  [
    'deep pages of the log',
    (db) => new DeliveryPager(db, { stride: 2 }).page({ accountId, endpointId }, { page: 5, pageSize: 2 }),
    ['webhook_deliveries_log_idx', 'webhook_deliveries_pkey'],
  ],
  [
    'deleting an endpoint',
    (db) => deleteEndpoint(db, accountId, endpointId),
    ['webhook_deliveries_pending_idx', 'webhook_endpoints_account_idx'],
  ],
  [
    'purging a recording',
    (db) => purgeRecording(db, { accountId, audioId: 'rec_1' }),
    [
      'recordings_pkey',
      'summaries_pkey',
      'transcripts_pkey',
      'webhook_deliveries_event_endpoint_idx',
      'webhook_endpoints_account_idx',
      'webhook_events_account_idx',
    ],
  ],
  [
    'replaying a delivery',
    (db) =>
      replayDeliveries(db, {
        operator: 'sre',
        reason: 'a test',
        now: NOW,
        limit: 1,
        deliveryId: deliveryIds[0] as DeliveryId,
      }),
    ['webhook_deliveries_event_endpoint_idx', 'webhook_deliveries_pkey'],
  ],
  [
    'replaying what failed for an endpoint',
    (db) => findReplayable(db, { endpointId, failedSince: new Date() }, 100),
    ['webhook_deliveries_event_endpoint_idx', 'webhook_deliveries_log_idx'],
  ],
  [
    'inspecting a delivery',
    (db) => findDeliveryReport(db, deliveryIds[0] as DeliveryId),
    [
      'webhook_deliveries_event_endpoint_idx',
      'webhook_deliveries_pkey',
      'webhook_endpoints_pkey',
      'webhook_events_pkey',
    ],
  ],
  [
    'listing disabled endpoints',
    (db) => listDisabledEndpoints(db, new Date(0), 100),
    ['webhook_deliveries_log_idx', 'webhook_endpoints_disabled_idx'],
  ],
  ['the gauge of undispatched events', readUndispatched, ['webhook_events_queued_idx']],
  [
    'retention of events',
    (db) => deleteOldEvents(db, new Date(20), 10),
    ['webhook_deliveries_event_endpoint_idx', 'webhook_events_pkey'],
  ],
  [
    'retention of endpoints',
    (db) => deleteOldEndpoints(db, new Date(), 10),
    ['webhook_deliveries_log_idx', 'webhook_endpoints_deleted_at_idx', 'webhook_events_target_idx'],
  ],
  [
    'deleting the events of an account',
    (db) => deleteAccountEvents(db, accountId, 10),
    ['webhook_events_account_idx'],
  ],
  [
    'deleting the endpoints of an account',
    (db) => deleteAccountEndpoints(db, accountId),
    ['webhook_endpoints_deleted_idx'],
  ],
  [
    'closing an account',
    (db) => closeAccount(db, accountId),
    ['webhook_deliveries_pending_idx', 'webhook_endpoints_account_idx', 'webhook_events_account_idx'],
  ],
]

/** These hold what is under way, or what needs somebody's attention, and nothing else: reading all of them is right. */
const SMALL = [
  'webhook_first_attempts',
  'webhook_first_attempts_pkey',
  'webhook_endpoints_disabled_idx',
  'webhook_events_queued_idx',
]
const isLarge = (name: string) => !SMALL.includes(name)

describe('hot queries use their index and read no table in full', () => {
  it.each(hotQueries)('%s', async (_name, run, indexes) => {
    const plans = await plansOf(database.db, run)
    expect(plans.indexes).toEqual(expect.arrayContaining(indexes))
    expect(plans.fullScans.filter(isLarge)).toEqual([])
  })

  // Connections of the dispatcher plan each statement once, for any parameters.
  it.each(hotQueries)('%s, planned once for all', async (_name, run, indexes) => {
    const plans = await plansOf(database.db, run, { generic: true })
    expect(plans.indexes).toEqual(expect.arrayContaining(indexes))
    expect([...plans.fullScans, ...plans.fullIndexScans].filter(isLarge)).toEqual([])
  })

  // An outage of a receiver makes the pending deliveries millions; every batch of results would read them all.
  it('recording results that disable nobody looks at no pending delivery', async () => {
    const delivered = deliveryIds.map((id, i) =>
      aResult({ id, endpointId, eventId: eventIds[i] as EventId }, { kind: 'delivered' }),
    )
    const { indexes } = await plansOf(database.db, (db) => recordAttempts(db, delivered), { analyze: true })
    expect(indexes).toContain('webhook_deliveries_pkey')
    expect(indexes).not.toContain('webhook_deliveries_pending_idx')
    expect(indexes).not.toContain('webhook_deliveries_due_idx')
  })

  it('the gauges', async () => {
    for (const generic of [false, true]) {
      const plans = await plansOf(database.db, (db) => readBacklog(db, new Date()), { generic })
      expect(plans.fullScans.filter(isLarge)).toEqual([])
    }
  })
})
