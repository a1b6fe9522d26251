import { beforeAll, describe, expect, it } from '@jest/globals'
import type { Tx } from '@signet/db'
import { plansOf } from '@signet/testkit'
import { itReadsByIndexes, useWebhooksDatabase } from '@signet/webhook-testkit/jest'
import { fillTables, isLarge, NOW, type HotQuery } from '@signet/webhook-testkit'
import type { DeliveryId, EndpointId, EventId } from '@signet/webhook-core'
import {
  findEvent,
  listDeliveriesOfEndpoint,
  listDeliveriesOfEvent,
  listEventsOfAccount,
  listFailingEndpoints,
} from '../../src/admin/admin-store.js'
import { countDisabledEndpoints, readBacklog, readUndispatched } from '../../src/backlog/backlog-store.js'
import { listAttempts, recordAttempts, recordFirstAttempts } from '../../src/deliveries/attempt-store.js'
import { cancelBacklog } from '@signet/webhook-core/stores'
import { findEndedWithBacklog } from '../../src/deliveries/cancel-store.js'
import { findScheduledOf } from '../../src/deliveries/deferred-store.js'
import { findDeliverySnapshots, findOverdueDeliveries } from '../../src/deliveries/delivery-store.js'
import { dispatchEvents } from '../../src/dispatching/dispatch-store.js'
import { countRepeatedAttempt, findWrittenIds } from '../../src/deliveries/repeated-attempt-store.js'
import {
  concludeFirstAttempts,
  findEventSnapshots,
  scheduleDeliveries,
  writeDeliveries,
} from '../../src/dispatching/first-attempt-store.js'
import { findBodies, findForgottenEvents } from '../../src/events/event-store.js'
import { findDeliveryReport, listDisabledEndpoints } from '../../src/operations/operator-store.js'
import { findReplayable, replayDeliveries } from '../../src/operations/replay-store.js'
import { lockRecovery, stepRecovery } from '../../src/recovering/recovery-store.js'
import { deleteOldEndpoints, deleteOldEvents } from '../../src/retention/retention-store.js'
import { aResult, retry } from '../support/deliveries.js'

const database = useWebhooksDatabase()
let accountId: string
let endpointId: EndpointId
let eventIds: EventId[]
let deliveryIds: DeliveryId[]
beforeAll(async () => {
  ;({ accountId, endpointId, eventIds, deliveryIds } = await fillTables(database.db))
})

describe('hot queries use their index and read no table in full', () => {
  itReadsByIndexes(database, [
    ['counting disabled endpoints', countDisabledEndpoints, ['webhook_endpoints_disabled_idx']],
    ['reading bodies', (db) => findBodies(db, eventIds), ['webhook_events_pkey']],
    [
      'dispatching events that came with a body',
      (db) =>
        dispatchEvents(
          db,
          eventIds.slice(0, 20).map((id) => ({ id })),
          NOW,
        ),
      ['webhook_deliveries_event_endpoint_idx', 'webhook_endpoints_account_idx', 'webhook_events_pkey'],
    ],
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
      'reading the snapshots of events',
      (db) => findEventSnapshots(db, eventIds),
      ['webhook_deliveries_event_endpoint_idx', 'webhook_endpoints_account_idx', 'webhook_events_pkey'],
    ],
    [
      'writing deliveries that take long',
      async (db) => writeDeliveries(db, await findDeliverySnapshots(db, deliveryIds), NOW),
      ['webhook_events_pkey'],
    ],
    [
      'writing deliveries that take long beside locked events',
      async (db) =>
        writeDeliveries(db, await findDeliverySnapshots(db, deliveryIds), NOW, { skipLocked: true }),
      ['webhook_events_pkey'],
    ],
    [
      'recording first attempts, disabling included',
      (db) =>
        recordFirstAttempts(
          db,
          eventIds.map((eventId, i) => {
            const id = `${1_000_000 + i}` as unknown as DeliveryId
            return {
              ...aResult({ id, endpointId, eventId }, retry()),
              eventType: 'summary.completed',
              createdAt: NOW,
            }
          }),
          eventIds,
        ),
      ['webhook_deliveries_event_endpoint_idx', 'webhook_endpoints_pkey', 'webhook_events_pkey'],
    ],
    [
      'reading the snapshots of deliveries',
      (db) => findDeliverySnapshots(db, deliveryIds),
      ['webhook_deliveries_pkey', 'webhook_endpoints_pkey', 'webhook_events_pkey'],
    ],
    [
      'recording attempts, disabling included',
      (db) =>
        recordAttempts(
          db,
          deliveryIds.map((id, i) => aResult({ id, endpointId, eventId: eventIds[i] as EventId }, retry())),
        ),
      ['webhook_deliveries_pkey', 'webhook_endpoints_pkey'],
    ],
    [
      'cancelling what is pending for a disabled endpoint',
      (db) => cancelBacklog(db, endpointId, null, 1000),
      ['webhook_deliveries_pending_idx', 'webhook_deliveries_pkey', 'webhook_endpoints_pkey'],
    ],
    [
      'sweeping disabled and deleted endpoints',
      (db) => findEndedWithBacklog(db, { before: new Date(), limit: 100 }),
      [
        'webhook_deliveries_pending_idx',
        'webhook_endpoints_disabled_idx',
        'webhook_endpoints_deleted_at_idx',
      ],
    ],
    [
      'counting a repeated attempt',
      (db) =>
        countRepeatedAttempt(
          db,
          aResult({ id: deliveryIds[0] as DeliveryId, endpointId, eventId: eventIds[0] as EventId }, retry()),
        ),
      ['webhook_attempts_pkey', 'webhook_deliveries_pkey', 'webhook_events_pkey'],
    ],
    [
      'finding the rows of another process',
      (db) =>
        findWrittenIds(
          db,
          deliveryIds.map((id, i) => aResult({ id, endpointId, eventId: eventIds[i] as EventId }, retry())),
        ),
      ['webhook_deliveries_event_endpoint_idx'],
    ],
    ['listing attempts', (db) => listAttempts(db, deliveryIds), ['webhook_attempts_pkey']],
    ['scheduling deliveries', (db) => scheduleDeliveries(db, deliveryIds, NOW), ['webhook_deliveries_pkey']],
    [
      'concluding first attempts',
      (db) => concludeFirstAttempts(db, eventIds),
      ['webhook_deliveries_event_endpoint_idx'],
    ],
    [
      'sweeping events',
      (db) =>
        findForgottenEvents(db, {
          before: new Date(),
          except: { from: new Date(0), to: new Date() },
          limit: 100,
        }),
      ['webhook_events_pkey'],
    ],
    [
      'searching for deferred deliveries of an endpoint',
      (db) => findScheduledOf(db, endpointId, { now: new Date(), limit: 100 }),
      ['webhook_deliveries_pending_idx'],
    ],
    [
      'sweeping deliveries',
      (db) => findOverdueDeliveries(db, { before: new Date(), limit: 100 }),
      ['webhook_deliveries_due_idx'],
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
    ['showing an event', (db) => findEvent(db, eventIds[0] as EventId), ['webhook_events_pkey']],
    [
      'showing the deliveries of an event',
      (db) => listDeliveriesOfEvent(db, eventIds[0] as EventId, 50),
      ['webhook_deliveries_event_endpoint_idx'],
    ],
    [
      'showing the deliveries of an endpoint',
      (db) => listDeliveriesOfEndpoint(db, endpointId, 50),
      ['webhook_deliveries_log_idx'],
    ],
    [
      'showing the events of an account',
      (db) => listEventsOfAccount(db, accountId, 50),
      ['webhook_events_samples_idx or webhook_events_account_idx'],
    ],
    [
      'listing failing endpoints',
      (db) => listFailingEndpoints(db, 50),
      ['webhook_deliveries_failed_idx', 'webhook_deliveries_pending_idx', 'webhook_endpoints_pkey'],
    ],
    [
      'listing disabled endpoints',
      (db) => listDisabledEndpoints(db, new Date(0), 100),
      ['webhook_endpoints_disabled_idx'],
    ],
    ['locking a recovery', (db) => lockRecovery(db as Tx, new Date()), ['webhook_recoveries_step_idx']],
    ...(['failed', 'all'] as const).map((what): HotQuery => [
      `a step of a recovery of ${what}`,
      (db) =>
        stepRecovery(db, { id: '1', endpointId, accountId: '', what }, { outstanding: 50, rows: 500 }, NOW),
      [
        what === 'failed' ? 'webhook_deliveries_failed_idx' : 'webhook_deliveries_log_idx',
        'webhook_deliveries_event_endpoint_idx',
        'webhook_deliveries_recovery_idx',
        'webhook_events_pkey',
      ],
    ]),
    [
      'the gauge of undispatched events',
      readUndispatched,
      ['webhook_queued_events_pkey', 'webhook_events_pkey'],
    ],
    [
      'retention of events',
      (db) => deleteOldEvents(db as Tx, new Date(20), 10),
      ['webhook_deliveries_event_endpoint_idx', 'webhook_events_pkey'],
    ],
    [
      'retention of endpoints',
      (db) => deleteOldEndpoints(db, new Date(), 10),
      ['webhook_deliveries_log_idx', 'webhook_endpoints_deleted_at_idx', 'webhook_events_target_idx'],
    ],
  ])

  // During a receiver's outage there are millions of pending deliveries; otherwise, every batch of results would read them all.
  it('recording results looks at no other pending delivery, also when it disables an endpoint', async () => {
    const failed = deliveryIds.map((id, i) =>
      aResult({ id, endpointId, eventId: eventIds[i] as EventId }, retry()),
    )
    const { indexes } = await plansOf(database.db, (db) => recordAttempts(db, failed), { analyze: true })
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
