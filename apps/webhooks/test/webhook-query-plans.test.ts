import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Tx } from '@signet/db'
import { itReadsByIndexes, useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import {
  fillTables,
  type HotQuery,
  findRecordings,
  findSummaries,
  findTranscripts,
} from '@signet/webhook-testkit'
import { plansOf } from '@signet/testkit'
import { newEventId, type DeliveryId, type EndpointId } from '@signet/webhook-core'
import {
  activateNextSecret,
  cancelBacklog,
  cancelNextSecret,
  closeAccount,
  countAccountRows,
  deleteAccountEndpoints,
  deleteAccountEvents,
  deleteEndpoint,
  enableEndpoint,
  findEndpoint,
  findEndpointHealth,
  insertEndpoint,
  listEndpointHealth,
  listEndpoints,
  patchEndpoint,
  purgeRecording,
  storeNextSecret,
} from '@signet/webhook-core/stores'
import { findAttempts, findDelivery, findPayload } from '../src/deliveries/attempt-log-store.js'
import { DeliveryPager } from '../src/deliveries/delivery-pager.js'
import type { DeliveryFilter } from '../src/deliveries/delivery-row.js'
import { findDeliveries } from '../src/deliveries/delivery-store.js'
import { findObstacle, replayDelivery } from '../src/deliveries/replay-store.js'
import { insertPing } from '../src/events/ping-store.js'
import {
  findRecovery,
  insertRecovery,
  listRecoveries,
  type RecoveryId,
} from '../src/recoveries/recovery-store.js'
import { findRecentBodies, findRecentlySummarized } from '../src/samples/sample-store.js'

const database = useWebhooksDatabase()
let accountId: string
let endpointId: EndpointId
beforeAll(async () => {
  ;({ accountId, endpointId } = await fillTables(database.db))
})

const refs = () => Array.from({ length: 50 }, (_, i) => ({ accountId, audioId: `rec_${i}` }))

describe('hot queries use their index and read no table in full', () => {
  itReadsByIndexes(database, [
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
    [
      'finding an endpoint',
      (db) => findEndpoint(db, accountId, endpointId),
      ['webhook_endpoints_account_idx'],
    ],
    [
      'patching an endpoint',
      (db) => patchEndpoint(db, accountId, endpointId, { events: ['summary.completed'] }),
      ['webhook_endpoints_account_idx'],
    ],
    [
      'enabling an endpoint',
      (db) => enableEndpoint(db, accountId, endpointId),
      ['webhook_endpoints_account_idx'],
    ],
    [
      'storing the next secret',
      (db) =>
        storeNextSecret(db, accountId, endpointId, {
          next: { keyId: 'k1', ciphertext: Buffer.of() },
          activateAfterHours: 24,
        }),
      ['webhook_endpoints_account_idx'],
    ],
    [
      'activating a secret',
      (db) => activateNextSecret(db, accountId, endpointId),
      ['webhook_endpoints_account_idx'],
    ],
    [
      'cancelling a secret',
      (db) => cancelNextSecret(db, accountId, endpointId),
      ['webhook_endpoints_account_idx'],
    ],
    ['reading recordings', (db) => findRecordings(db, refs()), ['recordings_pkey']],
    ['reading transcripts', (db) => findTranscripts(db, refs()), ['transcripts_pkey']],
    ['reading summaries', (db) => findSummaries(db, refs()), ['summaries_pkey']],
    [
      'deleting an endpoint',
      (db) => deleteEndpoint(db, accountId, endpointId),
      ['webhook_endpoints_account_idx'],
    ],
    [
      'cancelling what is pending for a deleted endpoint',
      (db) => cancelBacklog(db, endpointId, null, 1000),
      ['webhook_deliveries_pending_idx', 'webhook_deliveries_pkey', 'webhook_endpoints_pkey'],
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
      ['webhook_endpoints_account_idx', 'webhook_events_pkey'],
    ],
    [
      'queueing a ping',
      (db) => insertPing(db, { eventId: newEventId(new Date()), accountId, endpointId }),
      ['webhook_endpoints_account_idx'],
    ],
    ['samples from the mirror', (db) => findRecentlySummarized(db, accountId, 3), ['summaries_recent_idx']],
    [
      'samples from events',
      (db) => findRecentBodies(db, accountId, 'summary.completed', { limit: 3 }),
      ['webhook_events_samples_idx'],
    ],
    [
      'the first pages of the log',
      (db) => new DeliveryPager(db).page({ accountId, endpointId }, { page: 3, pageSize: 20 }),
      ['webhook_deliveries_log_idx', 'webhook_deliveries_pkey'],
    ],
    [
      'the log by cursor',
      (db) =>
        findDeliveries(
          db,
          { accountId, endpointId },
          {},
          { after: { createdAt: 'infinity', id: '1' as DeliveryId }, limit: 20 },
        ),
      ['webhook_deliveries_log_idx', 'webhook_deliveries_pkey'],
    ],
    ...(
      [
        ['failed', { status: 2 }, ['webhook_deliveries_failed_idx']],
        [
          'pending',
          { status: 0 },
          ['webhook_deliveries_pending_idx', 'webhook_deliveries_event_endpoint_idx'],
        ],
        ['delivered', { status: 1, eventType: 'webhook.ping' }, ['webhook_deliveries_log_idx']],
        ['one event', { eventId: `evt_${'0'.repeat(32)}` }, ['webhook_deliveries_event_endpoint_idx']],
        [
          'a time',
          { since: '2020-01-01T00:00:00Z', until: '2040-01-01T00:00:00Z' },
          ['webhook_deliveries_log_idx'],
        ],
      ] as [string, DeliveryFilter, string[]][]
    ).map(([name, filter, indexes]): HotQuery => [
      `the log of what is filtered: ${name}`,
      (db) => findDeliveries(db, { accountId, endpointId }, filter, { limit: 20 }),
      [...indexes, 'webhook_deliveries_pkey'],
    ]),
    [
      'replaying a delivery',
      (db) => replayDelivery(db, { accountId, endpointId }, '1' as DeliveryId),
      ['webhook_deliveries_pkey', 'webhook_deliveries_event_endpoint_idx'],
    ],
    [
      'what keeps a delivery from being replayed',
      (db) => findObstacle(db, { accountId, endpointId }, '1' as DeliveryId),
      ['webhook_deliveries_pkey', 'webhook_deliveries_event_endpoint_idx', 'webhook_events_pkey'],
    ],
    ...(['failed', 'all'] as const).map((what): HotQuery => [
      `starting a recovery of ${what}`,
      (db) =>
        insertRecovery(db as Tx, {
          accountId,
          endpointId,
          what,
          since: '2020-01-01T00:00:00Z',
          until: undefined,
          limit: 10,
        }),
      what === 'failed'
        ? ['webhook_deliveries_failed_idx', 'webhook_deliveries_event_endpoint_idx']
        : ['webhook_deliveries_log_idx'],
    ]),
    [
      'a recovery',
      (db) => findRecovery(db, { accountId, endpointId }, '1' as RecoveryId),
      ['webhook_recoveries_endpoint_idx', 'webhook_deliveries_recovery_idx'],
    ],
    [
      'the recoveries of an endpoint',
      (db) => listRecoveries(db, { accountId, endpointId }, { before: null, limit: 21 }),
      ['webhook_recoveries_endpoint_idx'],
    ],
    [
      'a delivery',
      (db) => findDelivery(db, { accountId, endpointId }, '1' as DeliveryId),
      ['webhook_deliveries_pkey'],
    ],
    [
      'what it sent',
      (db) => findPayload(db, { accountId, endpointId }, { id: '1' as DeliveryId, maxLength: 10 }),
      ['webhook_deliveries_pkey', 'webhook_events_pkey'],
    ],
    [
      'the health of endpoints',
      (db) => listEndpointHealth(db, accountId),
      ['webhook_endpoints_account_idx', 'webhook_deliveries_log_idx'],
    ],
    [
      'the health of an endpoint',
      (db) => findEndpointHealth(db, { accountId, endpointId }),
      ['webhook_endpoints_pkey', 'webhook_deliveries_log_idx'],
    ],
    [
      'its attempts',
      (db) => findAttempts(db, { accountId, endpointId }, '1' as DeliveryId),
      ['webhook_attempts_pkey', 'webhook_deliveries_pkey'],
    ],
    [
      'deep pages of the log',
      (db) => new DeliveryPager(db, { stride: 2 }).page({ accountId, endpointId }, { page: 5, pageSize: 2 }),
      ['webhook_deliveries_log_idx', 'webhook_deliveries_pkey'],
    ],
  ])
})

it('counts what an account has without reading the largest tables in full', async () => {
  const { fullScans } = await plansOf(database.db, (spy) => countAccountRows(spy, accountId))
  const largest = ['webhook_events', 'webhook_deliveries', 'webhook_attempts', 'transcripts', 'summaries']
  expect(fullScans.filter((table) => largest.includes(table))).toEqual([])
})
