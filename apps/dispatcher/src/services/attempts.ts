import { RetrySchedule, type EventId } from '@signet/webhook-core'
import { AttemptService } from '../attempts/attempt-service.js'
import { BacklogCanceller } from '../attempts/backlog-canceller.js'
import { BodyCache } from '../attempts/body-cache.js'
import { DeferredJobs } from '../attempts/deferred-jobs.js'
import { DueDeliveries } from '../attempts/due-deliveries.js'
import { LostRuns } from '../attempts/lost-runs.js'
import { OpenSecrets } from '../attempts/open-secrets.js'
import { ResultRecorder } from '../attempts/result-recorder.js'
import { SnapshotFreshness } from '../attempts/snapshot-freshness.js'
import { createSnapshotLoader } from '../attempts/snapshot-loader.js'
import { retryWhileUnavailable } from '../database/retry-while-unavailable.js'
import { findBody } from '../events/event-store.js'
import { EndpointLimiter } from '../fairness/endpoint-limiter.js'
import type { Connections } from '../sending/connections.js'
import { post } from '../sending/http-sender.js'
import type { Parts } from './parts.js'

type AttemptPorts = {
  connections: Connections
  random?: (() => number) | undefined
  freshMs?: number | undefined
}

export type Attempts = ReturnType<typeof createAttempts>

/** Creates what makes attempts, records their results and decides what follows. */
export function createAttempts(parts: Parts, { connections, random, freshMs }: AttemptPorts) {
  const { config, pools, queues, observer, retryWhileUnavailable: retry, now } = parts
  const { db } = pools
  const limiter = new EndpointLimiter({
    concurrency: config.concurrency,
    perEndpoint: config.endpointConcurrency,
  })
  const bodies = new BodyCache({
    maxBytes: config.bodyCacheMib * 1024 * 1024,
    load: (id, maxBytes) => findBody(db, id as EventId, maxBytes),
    seen: (result) => observer.bodyRead(result),
  })
  const canceller = new BacklogCanceller({ db, retryWhileUnavailable: retry, observer })
  const recorder = createRecorder(parts, canceller)
  const findSnapshot = createSnapshotLoader(db, retry)
  const schedule = new RetrySchedule({ delaysSeconds: config.retryDelaysSeconds, random })
  const due = new DueDeliveries({ db, findSnapshot, retryWhileUnavailable: retry, observer, now })
  const lostRuns = new LostRuns({ due, findSnapshot, recorder, schedule, observer, now })
  const deferredJobs = new DeferredJobs({ db, queues, limiter, now })
  const attempts = new AttemptService({
    due,
    lostRuns,
    limiter,
    deferredJobs,
    bodies,
    recorder,
    retryWhileUnavailable: retry,
    observer,
    now,
    secrets: new OpenSecrets(config.secretBox),
    schedule,
    freshness: new SnapshotFreshness(freshMs),
    send: (request, accountId) => post(connections.of(accountId), request, config.timeoutMs),
  })
  return { limiter, bodies, canceller, lostRuns, deferredJobs, attempts }
}

function createRecorder(parts: Parts, canceller: BacklogCanceller): ResultRecorder {
  const { pools, observer, retriesStopped } = parts
  return new ResultRecorder({
    db: pools.results,
    dbApart: pools.apart,
    retryWhileUnavailable: parts.retryWhileUnavailable,
    // A request whose result is not recorded would be sent again and again, without ever using up an attempt.
    retryTimeouts: (work) => retryWhileUnavailable(work, { stop: retriesStopped, retryTimeouts: true }),
    onCommit: (size, durationMs) => observer.committed(size, durationMs),
    onTimeout: (size, error) => observer.commitTimedOut(size, error),
    onDisabled: (endpointId) => canceller.request(endpointId),
  })
}
