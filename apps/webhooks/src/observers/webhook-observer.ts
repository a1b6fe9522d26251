import { RepeatedWarning, type Logger, type RequestMeta } from '@signet/telemetry'
import { Counter, type Registry } from 'prom-client'

type EndpointFields = { endpointId: string; accountId: string }
type WarningFields = { id: string; endpointId: string; threshold: number; attempts: number }
type IngestFields = { eventId?: string; source: string; accountId: string }

/**
 * Reports what happens to endpoints and in ingest, with one function each for log line and counter together. Never logs a URL (its
 * query may contain a secret of the receiver), a secret, or anything from a recording's content.
 */
export function createWebhookObserver(log: Logger, registry: Registry) {
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const changes = counter('webhook_endpoints_changed_total', 'Endpoints by what was done to them', ['change'])
  const tests = counter('webhook_test_events_total', 'Test events by whether they were queued', ['queued'])
  const ingested = counter('webhook_events_ingested_total', 'Summary-ready notices by result', ['result'])
  const mirrored = counter('webhook_recordings_mirrored_total', 'Recordings put or deleted', ['change'])
  const missed = counter(
    'webhook_events_publish_failed_total',
    'Committed events that did not reach Redis at once; the sweeper finds them',
  )

  // Logs at most once a minute, because during an outage of Redis every event would be logged. The counter has the exact number.
  const leftToSweeper = new RepeatedWarning(log, 'events left to the sweeper')

  const warnings = counter(
    'webhook_warning_emails_total',
    'Warnings to owners of failing endpoints, by outcome; failed attempts are repeated',
    ['outcome'],
  )
  // These start at zero, so that the first of each is an increase.
  for (const outcome of ['sent', 'failed', 'expired']) warnings.inc({ outcome }, 0)

  const aboutWarning = ({ id, endpointId, threshold, attempts }: WarningFields) => ({
    warning_id: id,
    endpoint_id: endpointId,
    failures: threshold,
    attempts,
  })
  const endpointChanged =
    (change: string, more: Record<string, string> = {}) =>
    (fields: EndpointFields, { requestId }: RequestMeta) => {
      changes.inc({ change })
      log.info(`endpoint ${change}`, {
        request_id: requestId,
        endpoint_id: fields.endpointId,
        account_id: fields.accountId,
        ...more,
      })
    }
  const noticed =
    (result: string) =>
    (fields: IngestFields, { requestId }: RequestMeta) => {
      ingested.inc({ result })
      log.info('summary ready', {
        request_id: requestId,
        result,
        event_id: fields.eventId,
        source: fields.source,
        account_id: fields.accountId,
      })
    }

  return {
    endpointCreated: endpointChanged('created'),
    endpointUpdated: endpointChanged('updated'),
    endpointEnabled: endpointChanged('enabled'),
    secretRotated: endpointChanged('secret rotated'),
    secretActivated: endpointChanged('secret activated'),
    secretCancelled: endpointChanged('secret cancelled'),
    deliveryReplayed({ deliveryId, ...fields }: EndpointFields & { deliveryId: string }, meta: RequestMeta) {
      endpointChanged('delivery replayed', { delivery_id: deliveryId })(fields, meta)
    },
    recoveryStarted({ recoveryId, ...fields }: EndpointFields & { recoveryId: string }, meta: RequestMeta) {
      endpointChanged('recovery started', { recovery_id: recoveryId })(fields, meta)
    },
    recoveryCancelled({ recoveryId, ...fields }: EndpointFields & { recoveryId: string }, meta: RequestMeta) {
      endpointChanged('recovery cancelled', { recovery_id: recoveryId })(fields, meta)
    },
    endpointDeleted: endpointChanged('deleted'),
    testEvent(fields: EndpointFields & { eventId: string; queued: boolean }, { requestId }: RequestMeta) {
      tests.inc({ queued: String(fields.queued) })
      log.info('test event', {
        request_id: requestId,
        event_id: fields.eventId,
        endpoint_id: fields.endpointId,
        account_id: fields.accountId,
        queued: fields.queued,
      })
    },
    summaryIngested: noticed('accepted'),
    summaryRepeated: noticed('duplicate'),
    summaryConflicted: noticed('conflict'),
    batchLineFailed(error: unknown, { requestId }: RequestMeta) {
      log.error('a line of a batch failed', { request_id: requestId, error })
    },
    recordingStored(fields: { accountId: string; source: string }, { requestId }: RequestMeta) {
      mirrored.inc({ change: 'put' })
      log.info('recording stored', {
        request_id: requestId,
        account_id: fields.accountId,
        source: fields.source,
      })
    },
    recordingDeleted(
      fields: {
        accountId: string
        source: string
        purgedEvents: number
        cancelledDeliveries: number
      },
      { requestId }: RequestMeta,
    ) {
      mirrored.inc({ change: 'deleted' })
      log.info('recording deleted', {
        request_id: requestId,
        account_id: fields.accountId,
        source: fields.source,
        events: fields.purgedEvents,
        deliveries: fields.cancelledDeliveries,
      })
    },
    accountDeleted(fields: { accountId: string; source: string }, { requestId }: RequestMeta) {
      log.info('account deleted', {
        request_id: requestId,
        account_id: fields.accountId,
        source: fields.source,
      })
    },
    backlogLeft(endpointId: string, error: unknown) {
      log.warn('pending deliveries of a deleted endpoint left to the sweeper', {
        endpoint_id: endpointId,
        error,
      })
    },
    purgeFailed(error: unknown) {
      log.warn('rows of deleted accounts are left for the next run', { error })
    },
    accountNotPurged(accountId: string, error: unknown) {
      log.error('rows of a deleted account are left for the next run', { account_id: accountId, error })
    },
    warningFailed(warning: WarningFields, error: unknown) {
      warnings.inc({ outcome: 'failed' })
      log.warn('a warning could not be sent; retrying', { ...aboutWarning(warning), error })
    },
    warningEnded(warning: WarningFields, outcome: string) {
      warnings.inc({ outcome })
      const isGivenUp = outcome === 'refused' || outcome === 'expired'
      log.log(isGivenUp ? 'error' : 'info', isGivenUp ? 'a warning was given up' : 'warning ended', {
        ...aboutWarning(warning),
        outcome,
      })
    },
    warningsUnreachable(error: unknown) {
      log.warn('database unavailable; warnings wait', { error })
    },
    publishMissed(count: number, error: unknown) {
      missed.inc(count)
      leftToSweeper.warn(error)
    },
  }
}

export type WebhookObserver = ReturnType<typeof createWebhookObserver>
