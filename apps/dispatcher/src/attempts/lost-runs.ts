import { deliveryStatus, type DeliveryId, type RetrySchedule } from '@signet/webhook-core'
import type { AttemptResult, RecordedAttempt } from '../deliveries/attempt-store.js'
import type { DeliverySnapshot } from '../deliveries/delivery-store.js'
import type { Observer } from '../observers/observer.js'
import type { DueDeliveries } from './due-deliveries.js'
import { FINISHED, outcomeOf, retryAt, type JobOutcome } from './job-outcome.js'
import { attemptOf, recordResult } from './record-result.js'
import type { ResultRecorder } from './result-recorder.js'
import { decideRetryAfterLoss } from './retry-decision.js'
import type { KnownDelivery } from './snapshot-rules.js'

export type LostRunsDeps = {
  due: DueDeliveries
  findSnapshot: (id: DeliveryId) => Promise<DeliverySnapshot | null>
  recorder: ResultRecorder
  schedule: RetrySchedule
  observer: Pick<Observer, 'attemptEnded'>
  now: () => Date
}

/**
 * Records the attempts of workers that died. A worker may have sent its request, so each lost run is logged and counts as an
 * attempt (docs/failures.md#a-worker-that-died).
 */
export class LostRuns {
  constructor(private readonly deps: LostRunsDeps) {}

  /** Records the lost attempts of a job of the `deliveries` queue. Returns undefined if the job should make its next attempt now. */
  async report(known: KnownDelivery, losses: number): Promise<JobOutcome | undefined> {
    const due = await this.deps.due.find(known)
    if (!('snapshot' in due)) return due.outcome
    const recorded = await this.#record(due.snapshot, losses)
    const isOver = recorded?.status !== deliveryStatus.pending
    return isOver || losses > 1 ? outcomeOf(recorded, this.deps.now()) : undefined
  }

  /**
   * Records a first attempt after the worker of its event died. The start of an attempt is not recorded, so it counts even if it had not
   * started. The next attempt follows immediately.
   */
  async reportFirst(deliveryId: DeliveryId): Promise<JobOutcome> {
    const { findSnapshot, now } = this.deps
    const snapshot = await findSnapshot(deliveryId)
    if (snapshot?.status !== deliveryStatus.pending) return FINISHED
    const { attempts, nextAttemptAt } = snapshot
    // The worker is alive after all, and has just recorded the attempt in a row that this process wrote. So this process continues.
    if (attempts > 0 && nextAttemptAt !== null) return retryAt(nextAttemptAt, '', now())
    if (attempts > 0 || nextAttemptAt !== null) return FINISHED
    return outcomeOf(await this.#record(snapshot, 1), now())
  }

  async #record(snapshot: DeliverySnapshot, losses: number): Promise<RecordedAttempt | null> {
    const { recorder, schedule, now, observer } = this.deps
    const number = snapshot.attempts + 1
    const finishedAt = now()
    const result: AttemptResult = {
      ...attemptOf(snapshot, number),
      key: null,
      outcome: decideRetryAfterLoss(losses, number, schedule),
      startedAt: snapshot.nextAttemptAt ?? snapshot.createdAt,
      finishedAt,
    }
    const recorded = await recordResult(recorder, result, snapshot.endpoint.accountId)
    observer.attemptEnded({ snapshot, result, recorded })
    return recorded
  }
}
