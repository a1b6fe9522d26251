import { deliveryStatus } from '@signet/webhook-core'
import type { RecordedAttempt } from '../deliveries/attempt-store.js'

/** What to do with the job: it is done, retry it as scheduled, or defer it because nothing was attempted. */
export type JobOutcome =
  | { kind: 'finished' }
  | { kind: 'retry'; delayMs: number; reason: string }
  | { kind: 'defer'; delayMs: number }

export const FINISHED: JobOutcome = { kind: 'finished' }

/**
 * Another process just recorded this attempt or is changing the ban. The row says when to continue, so the job reads it again after
 * this delay.
 */
export const RECHECK: JobOutcome = { kind: 'defer', delayMs: 1000 }

export const retryAt = (at: Date, reason: string, now: Date): JobOutcome => ({
  kind: 'retry',
  delayMs: Math.max(1, at.getTime() - now.getTime()),
  reason,
})

export function outcomeOf(recorded: RecordedAttempt | null, now: Date): JobOutcome {
  if (recorded?.status !== deliveryStatus.pending) return FINISHED
  return recorded.nextAttemptAt ? retryAt(recorded.nextAttemptAt, recorded.lastError, now) : RECHECK
}
