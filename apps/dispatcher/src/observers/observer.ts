import { isUnavailable } from '@signet/db'
import { RepeatedWarning, type Logger } from '@signet/telemetry'
import type { DeliveryId, EndpointId, EventId } from '@signet/webhook-core'
import { queueNames } from '@signet/webhook-core/queue'
import { durationMsOf } from '../deliveries/attempt-duration.js'
import type { AttemptResult, RecordedAttempt } from '../deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import type { UnconvertedReason } from '../preparing/conversion-scheduler.js'
import type { PartProblem } from '../preparing/parts-reader.js'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

export type AttemptFacts = {
  snapshot: DeliverySnapshot
  result: AttemptResult
  recorded: RecordedAttempt | null
}

const PARTS = Object.keys({
  recording: true,
  transcript: true,
  summaries: true,
} satisfies Record<PartProblem['part'], true>)

/** One function for each thing worth reporting: log line and metrics together, so that they cannot drift apart. */
export type Observer = ReturnType<typeof createObserver>

export function createObserver(log: Logger, registry: Registry) {
  const metrics = createMetrics(registry)
  // Prometheus sees no increase in a series that begins at 1.
  for (const reason of ['wrong', 'limited']) metrics.operatorRefusals.inc({ reason }, 0)
  for (const result of ['delivered', 'internal_error']) metrics.attempts.inc({ result }, 0)
  for (const reason of ['key_missing', 'proxy_failed']) metrics.deferred.inc({ reason }, 0)
  for (const queue of Object.values(queueNames))
    for (const counter of [metrics.jobsDropped, metrics.jobFailures, metrics.queueErrors, metrics.stalled])
      counter.inc({ queue }, 0)
  for (const kind of ['event', 'delivery']) metrics.swept.inc({ kind }, 0)
  for (const part of PARTS) metrics.enrichmentFailures.inc({ part }, 0)
  const queueWarnings = new RepeatedWarning(log, 'queue error')
  const proxyWarnings = new RepeatedWarning(log, 'egress proxy')
  return {
    attemptEnded({ snapshot, result, recorded }: AttemptFacts): void {
      const { outcome, startedAt, number } = result
      const label = outcome.kind === 'delivered' ? 'delivered' : outcome.error
      const durationMs = durationMsOf(result)
      const waitedMs = Math.max(
        0,
        startedAt.getTime() - (snapshot.nextAttemptAt ?? snapshot.createdAt).getTime(),
      )
      metrics.attempts.inc({ result: resultLabel(label) })
      metrics.attemptSeconds.observe({ outcome: durationLabel(label) }, durationMs / 1000)
      metrics.waitSeconds.observe(waitedMs / 1000)
      if (recorded?.nextAttemptAt) metrics.retries.inc({ step: String(number) })
      log.info('attempt', {
        delivery_id: snapshot.id,
        event_id: snapshot.eventId,
        event_type: snapshot.eventType,
        endpoint_id: snapshot.endpoint.id,
        attempt: number,
        result: label,
        tls_problem: result.facts?.tls_problem,
        status: recorded?.status,
        http_status: result.httpStatus,
        duration_ms: durationMs,
        waited_ms: waitedMs,
        next_attempt_at: recorded?.nextAttemptAt ?? undefined,
      })
      if (!recorded?.disabledEndpoint) return
      metrics.endpointsDisabled.inc()
      log.warn('endpoint disabled', {
        endpoint_id: snapshot.endpoint.id,
        delivery_id: snapshot.id,
        result: label,
      })
    },

    /** The delivery waits. */
    keyMissing(deliveryId: DeliveryId): void {
      metrics.deferred.inc({ reason: 'key_missing' })
      log.error('the key of a signing secret is not configured', { delivery_id: deliveryId })
    },

    attemptImpossible(deliveryId: DeliveryId, error: unknown): void {
      log.error('attempt failed on our side', { delivery_id: deliveryId, error })
    },

    /** Deliveries wait because of it. */
    proxyFailed(error: unknown): void {
      proxyWarnings.warn(error)
    },

    attemptSkipped(deliveryId: DeliveryId, reason: string): void {
      metrics.skipped.inc({ reason })
      log.info('attempt skipped', { delivery_id: deliveryId, reason })
    },

    deferred(reason: string): void {
      metrics.deferred.inc({ reason })
    },

    inFlight(count: number): void {
      metrics.inFlight.set(count)
    },

    eventDispatched(facts: {
      eventId: EventId
      eventType: string
      deliveries: number
      bytes: number
      ageMs: number
    }): void {
      metrics.dispatched.inc({ type: facts.eventType })
      metrics.dispatchSeconds.observe(Math.max(0, facts.ageMs) / 1000)
      log.info('event dispatched', {
        event_id: facts.eventId,
        event_type: facts.eventType,
        deliveries: facts.deliveries,
        bytes: facts.bytes,
        age_ms: Math.round(facts.ageMs),
      })
    },

    enrichmentFailed({ part, ref, error }: PartProblem): void {
      metrics.enrichmentFailures.inc({ part })
      log.error('enrichment failed', { part, audio_id: ref.audioId, reason: reasonOf(error) })
    },

    unconverted(eventId: EventId, reason: UnconvertedReason): void {
      metrics.unconverted.inc({ reason })
      log.warn('HTML sent unchanged', { event_id: eventId, reason })
    },

    committed(size: number, durationMs: number): void {
      metrics.commitSize.observe(size)
      metrics.commitSeconds.observe(durationMs / 1000)
    },

    commitTimedOut(size: number, error: unknown): void {
      log.warn('recording results timed out; each account is recorded apart', { size, error })
    },

    swept(found: { events: number; deliveries: number }): void {
      metrics.swept.inc({ kind: 'event' }, found.events)
      metrics.swept.inc({ kind: 'delivery' }, found.deliveries)
      if (found.events + found.deliveries > 0) log.warn('sweeper requeued lost work', found)
    },

    sweepFailed(error: unknown): void {
      metrics.sweepFailures.inc()
      log.warn('sweep failed; the next one will catch up', { error })
    },

    oldRowsDeleted(counts: { events: number; endpoints: number }): void {
      metrics.deleted.inc({ kind: 'event' }, counts.events)
      metrics.deleted.inc({ kind: 'endpoint' }, counts.endpoints)
      if (counts.events + counts.endpoints > 0) log.info('old rows deleted', counts)
    },

    retentionFailed(error: unknown): void {
      log.warn('deleting old rows failed; the next run will catch up', { error })
    },

    /** An operator looked at what people wrote and said. */
    payloadShown(facts: { eventId: EventId; operator: string }): void {
      log.info('payload shown', { event_id: facts.eventId, operator: facts.operator })
    },

    /** A token for the pages of operators was wrong, or was not checked after too many wrong ones. */
    operatorRefused(reason: 'wrong' | 'limited', address: string): void {
      metrics.operatorRefusals.inc({ reason })
      if (reason === 'wrong') log.warn('wrong operator token', { address })
    },

    adminPageFailed(path: string, error: unknown): void {
      log.error('admin page', { path, error })
    },

    cancellingFailed(endpointId: EndpointId, error: unknown): void {
      log.warn('cancelling deliveries of a disabled or deleted endpoint failed; the sweeper will catch up', {
        endpoint_id: endpointId,
        error,
      })
    },

    recoveryFailed(error: unknown): void {
      log.warn('a step of a recovery failed; the next one will catch up', { error })
    },

    bodyRead(result: 'hit' | 'miss'): void {
      metrics.bodyReads.inc({ result })
    },

    databaseUnavailable(error: unknown, attempt: number): void {
      metrics.databaseWaits.inc()
      // Retries settle at one per second. The cause may change: a lost connection first, then a standby.
      if (attempt === 1 || attempt % 60 === 0)
        log.warn('database unavailable; retrying', { tries: attempt, error })
    },

    jobFailed(queue: string, jobId: string | undefined, error: unknown): void {
      metrics.jobFailures.inc({ queue })
      log.error('job failed on our side; retrying', { queue, job_id: jobId, error })
    },

    jobDropped(queue: string, jobId: string | undefined): void {
      metrics.jobsDropped.inc({ queue })
      log.error('a job without its data was dropped; the sweeper makes another if its work is not done', {
        queue,
        job_id: jobId,
      })
    },

    queueError(queue: string, error: unknown): void {
      metrics.queueErrors.inc({ queue })
      queueWarnings.warn(error, { queue })
    },

    redisConnected(): void {
      queueWarnings.reset()
    },

    redisEmptied(): void {
      log.warn('redis was emptied; looking for lost work')
    },

    jobStalled(queue: string, jobId: string): void {
      metrics.stalled.inc({ queue })
      log.warn('a worker died; its job runs again', { queue, job_id: jobId })
    },
  }
}

function createMetrics(registry: Registry) {
  const registers = [registry]
  const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]) =>
    new Counter({ name: `signet_delivery_${name}`, help, labelNames, registers })
  const histogram = <L extends string>(name: string, help: string, buckets: number[], ...labelNames: L[]) =>
    new Histogram({ name: `signet_delivery_${name}`, help, buckets, labelNames, registers })
  return {
    attempts: counter('attempts_total', 'Attempts by result', 'result'),
    attemptSeconds: histogram('attempt_seconds', 'Duration of an attempt', seconds, 'outcome'),
    waitSeconds: histogram('wait_seconds', 'Time from when an attempt was due until it started', [
      ...seconds,
      30,
      60,
      300,
    ]),
    inFlight: new Gauge({ name: 'signet_delivery_in_flight', help: 'Attempts in flight', registers }),
    retries: counter('retries_total', 'Retries scheduled, by the number of the failed attempt', 'step'),
    skipped: counter('skipped_total', 'Jobs that ended without an attempt', 'reason'),
    deferred: counter(
      'deferred_total',
      'Jobs deferred because their endpoint had no permit, their account has enough events in the process, too many conversions wait, the key of a signing secret is not configured, or the egress proxy fails',
      'reason',
    ),
    endpointsDisabled: counter('endpoints_disabled_total', 'Endpoints disabled after consecutive failures'),
    dispatched: counter('events_dispatched_total', 'Events turned into deliveries', 'type'),
    dispatchSeconds: histogram('dispatch_seconds', 'Time from event to deliveries', [
      ...seconds,
      30,
      60,
      300,
    ]),
    enrichmentFailures: counter('enrichment_failures_total', 'Parts missing from payloads', 'part'),
    unconverted: counter('unconverted_total', 'Events sent with HTML that could not be converted', 'reason'),
    commitSize: histogram('commit_size', 'Results in one commit', [1, 2, 5, 10, 20, 50, 100, 200]),
    commitSeconds: histogram('commit_seconds', 'Duration of one commit of results', seconds),
    swept: counter('swept_total', 'Lost work requeued by the sweeper', 'kind'),
    sweepFailures: counter('sweep_failures_total', 'Sweeps that failed'),
    deleted: counter('old_rows_deleted_total', 'Rows deleted after their retention', 'kind'),
    operatorRefusals: counter(
      'operator_refusals_total',
      'Refused requests for the pages of operators',
      'reason',
    ),
    bodyReads: counter('body_reads_total', 'Reads of the body cache', 'result'),
    databaseWaits: counter('database_waits_total', 'Statements retried because the database was unavailable'),
    jobFailures: counter('job_failures_total', 'Jobs that failed on our side', 'queue'),
    jobsDropped: counter('dropped_jobs_total', 'Jobs dropped because Redis had lost their data', 'queue'),
    queueErrors: counter('queue_errors_total', 'Errors from Redis and BullMQ', 'queue'),
    stalled: counter('stalled_jobs_total', 'Jobs taken over from workers that died', 'queue'),
  }
}

/** Receivers choose their status codes. Only standard ones become labels. */
const resultLabel = (result: string): string => (/^http_(?![1-5]\d\d$)/.test(result) ? 'http_other' : result)

const durationLabel = (result: string) =>
  result === 'delivered' || result === 'timeout' ? result : result.startsWith('http_') ? 'refused' : 'failed'

/**
 * Says why a part could not be read. Leaves out messages that may quote a user's text: PostgreSQL's about data (classes 22 and 23), and
 * Node's about JSON.
 */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  const quotesNothing = /^(?!2[23])[0-9A-Z]{5}$/.test(code) || isUnavailable(error)
  return `${quotesNothing ? error.message : error.name}${code && ` (${code})`}`
}
