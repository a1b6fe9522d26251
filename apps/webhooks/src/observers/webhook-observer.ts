import type { Logger } from '@signet/telemetry'
import { Counter, type Registry } from 'prom-client'

type EndpointFields = { endpointId: string; accountId: string }
type IngestFields = { eventId?: string; source: string; accountId: string }

/**
 * The business events of subscriptions and ingest: one function each, log line and counter together. Never a url (its
 * query may hold a secret of the receiver), a secret, or anything of a recording's content. What happens in a request goes to the request's own log.
 */
export function createWebhookObserver(processLog: Logger, registry: Registry) {
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const changes = counter('webhook_endpoints_changed_total', 'Subscriptions by what was done to them', [
    'change',
  ])
  const tests = counter('webhook_test_events_total', 'Test events by whether they were queued', ['queued'])
  const ingested = counter('webhook_events_ingested_total', 'Summary-ready notices by result', ['result'])
  const mirrored = counter('webhook_recordings_mirrored_total', 'Recordings put or deleted', ['change'])
  const missed = counter(
    'webhook_events_publish_failed_total',
    'Committed events that did not reach Redis at once; the sweeper finds them',
  )

  const endpointChanged = (change: string) => (fields: EndpointFields, log: Logger) => {
    changes.inc({ change })
    log.info(`endpoint ${change}`, { endpoint_id: fields.endpointId, account_id: fields.accountId })
  }
  const noticed = (result: string) => (fields: IngestFields, log: Logger) => {
    ingested.inc({ result })
    log.info('summary ready', {
      result,
      event_id: fields.eventId,
      source: fields.source,
      account_id: fields.accountId,
    })
  }

  return {
    endpointCreated: endpointChanged('created'),
    endpointUpdated: endpointChanged('updated'),
    endpointDeleted: endpointChanged('deleted'),
    testEvent(fields: EndpointFields & { eventId: string; queued: boolean }, log: Logger) {
      tests.inc({ queued: String(fields.queued) })
      log.info('test event', {
        event_id: fields.eventId,
        endpoint_id: fields.endpointId,
        account_id: fields.accountId,
        queued: fields.queued,
      })
    },
    summaryIngested: noticed('accepted'),
    summaryRepeated: noticed('duplicate'),
    summaryConflicted: noticed('conflict'),
    recordingStored(fields: { accountId: string; source: string }, log: Logger) {
      mirrored.inc({ change: 'put' })
      log.info('recording stored', { account_id: fields.accountId, source: fields.source })
    },
    recordingDeleted(
      fields: {
        accountId: string
        source: string
        purgedEvents: number
        cancelledDeliveries: number
      },
      log: Logger,
    ) {
      mirrored.inc({ change: 'deleted' })
      log.info('recording deleted', {
        account_id: fields.accountId,
        source: fields.source,
        events: fields.purgedEvents,
        deliveries: fields.cancelledDeliveries,
      })
    },
    accountDeleted(fields: { accountId: string; source: string }, log: Logger) {
      log.info('account deleted', { account_id: fields.accountId, source: fields.source })
    },
    purgeFailed(error: unknown) {
      processLog.warn('rows of a deleted account are left for the next run', { error })
    },
    publishMissed(count: number, error: unknown) {
      missed.inc(count)
      processLog.warn('events left to the sweeper', { count, error })
    },
  }
}

export type WebhookObserver = ReturnType<typeof createWebhookObserver>
