import { beforeAll, describe, expect, it } from '@jest/globals'
import { type Queryable } from '@signet/db'
import {
  closeAccount,
  deleteAccountEvents,
  deleteEndpoint,
  deleteOldEvents,
  DeliveryPager,
  dispatchEvents,
  findAttemptPlans,
  findBodies,
  findEndpoint,
  findEvents,
  findForgottenEvents,
  findOverdueDeliveries,
  findRecentBodies,
  findRecentlySummarised,
  findRecordings,
  findSummaries,
  findTranscripts,
  ingestSummary,
  insertPing,
  listAttempts,
  listEndpoints,
  newEventId,
  patchEndpoint,
  purgeRecording,
  readBacklog,
  recordAttempts,
  replayDeliveries,
  scheduleDeliveries,
  type DeliveryId,
  type EndpointId,
  type EventId,
} from '../src/index.js'
import { plansOf, useDatabase } from './support/database.js'
import { aResult, aSummary, NOW, retry } from './support/fixtures.js'

// Tables large enough that a plan without the right index would be another one: 5,000 endpoints of 2,500 accounts,
// 30,000 events with one delivery and one attempt each, one in a thousand queued or pending.
const FILL = [
  `insert into webhook_endpoints (account_id, url, url_href, events, secret_ciphertext, secret_key_id)
   select md5('account' || n % 2500)::uuid, 'https://example.com/', 'https://example.com/',
     array['summary.completed'], '\\x00', 'k1'
   from generate_series(1, 5000) n`,
  `insert into webhook_events (id, account_id, type, audio_id, source, source_event_key, source_hash, state, body, dispatched_at, created_at)
   select 'evt_' || lpad(to_hex(n), 12, '0') || substr(md5(n::text), 1, 20), md5('account' || n % 2500)::uuid,
     'summary.completed', 'rec_' || n, 'pipeline', 'key:' || n, sha256(n::text::bytea),
     case when n % 1000 = 0 then 'queued' else 'dispatched' end, case when n % 1000 <> 0 then '{}' end, now(),
     now() - make_interval(secs => 30000 - n)
   from generate_series(1, 30000) n`,
  `insert into webhook_deliveries (endpoint_id, event_id, event_type, status, delivered_at, next_attempt_at, created_at)
   select (select min(id) from webhook_endpoints) + n % 2500,
     'evt_' || lpad(to_hex(n), 12, '0') || substr(md5(n::text), 1, 20), 'summary.completed',
     case when n % 1000 = 1 then 0 else 1 end, case when n % 1000 <> 1 then now() end,
     case when n % 1000 = 1 then now() end, now() - make_interval(secs => 30000 - n)
   from generate_series(1, 30000) n`,
  `insert into webhook_first_attempts select id, now() from webhook_events order by id desc limit 100`,
  `insert into webhook_attempts (delivery_id, number, started_at, duration_ms, url_version)
   select id, 1, now(), 5, 1 from webhook_deliveries`,
  `insert into recordings (account_id, audio_id, title)
   select md5('account' || n % 2500)::uuid, 'rec_' || n, 'x' from generate_series(1, 30000) n`,
  `insert into transcripts (account_id, audio_id, text)
   select md5('account' || n % 2500)::uuid, 'rec_' || n, 'x' from generate_series(1, 30000) n`,
  `insert into summaries (account_id, audio_id, position, label, content, format)
   select md5('account' || n % 2500)::uuid, 'rec_' || n, 0, 'a', 'x', 'markdown' from generate_series(1, 30000) n`,
  'vacuum analyze',
]

const database = useDatabase()
let accountId: string
let endpointId: EndpointId
let eventIds: EventId[]
let deliveryIds: DeliveryId[]
beforeAll(async () => {
  const { db } = database
  for (const statement of FILL) await db.query(statement)
  const { rows } = await db.query<{
    id: DeliveryId
    event_id: EventId
    endpoint_id: EndpointId
    account_id: string
  }>(
    `select d.id, d.event_id, d.endpoint_id, e.account_id
     from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where d.status = 1 limit 100`,
  )
  const [first] = rows
  if (!first) throw new Error('no delivery')
  accountId = first.account_id
  endpointId = first.endpoint_id
  eventIds = rows.map(({ event_id }) => event_id)
  deliveryIds = rows.map(({ id }) => id)
})

const refs = () => Array.from({ length: 50 }, (_, i) => ({ accountId, audioId: `rec_${i}` }))

const hotQueries: [name: string, run: (db: Queryable) => Promise<unknown>, indexes: string[]][] = [
  ['listing endpoints', (db) => listEndpoints(db, accountId), ['webhook_endpoints_account_idx']],
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
    (db) => new DeliveryPager(db).page(endpointId, 3, 20),
    ['webhook_deliveries_log_idx', 'webhook_deliveries_pkey'],
  ],
  [
    'deep pages of the log',
    (db) => new DeliveryPager(db, { stride: 2 }).page(endpointId, 5, 2),
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
    'retention',
    (db) => deleteOldEvents(db, new Date(20), 10),
    ['webhook_deliveries_event_endpoint_idx', 'webhook_events_pkey'],
  ],
  [
    'deleting the events of an account',
    (db) => deleteAccountEvents(db, accountId, 10),
    ['webhook_events_account_idx'],
  ],
  [
    'closing an account',
    (db) => closeAccount(db, accountId),
    ['webhook_deliveries_pending_idx', 'webhook_endpoints_account_idx', 'webhook_events_account_idx'],
  ],
]

/** Holds what is under way and nothing else, so reading all of it is right. */
const isLarge = (table: string) => table !== 'webhook_first_attempts'

describe('hot queries use their index and read no table in full', () => {
  it.each(hotQueries)('%s', async (_name, run, indexes) => {
    const plans = await plansOf(database.db, run)
    expect(plans.indexes).toEqual(expect.arrayContaining(indexes))
    expect(plans.fullScans.filter(isLarge)).toEqual([])
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
    const plans = await plansOf(database.db, (db) => readBacklog(db, new Date()))
    expect(plans.fullScans.filter(isLarge)).toEqual([])
  })
})
