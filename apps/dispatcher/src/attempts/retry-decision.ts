import type { FailureReason, RetrySchedule } from '@signet/webhook-core'
import type { Outcome } from '../deliveries/attempt-store.js'
import type { SendResult, Sent } from '../sending/attempt-failure.js'

// Every retry is decided here. The statement that records an attempt (deliveries/record-statement.ts) only applies the decision,
// with one exception: if the endpoint is deleted or disabled by then, it turns a retry into a failed delivery.

/** True for a 2xx within the time limit. Anything else, including a redirect, is a failure. */
export const isSuccess = (sent: SendResult): boolean =>
  sent.kind === 'answered' && sent.status >= 200 && sent.status <= 299

/** Whether a failed attempt is retried, and when: while attempts are left, after the delay of the schedule. */
export function decideRetry(sent: Sent, attemptNumber: number, schedule: RetrySchedule): Outcome {
  if (isSuccess(sent)) return { kind: 'delivered' }
  const error: FailureReason = sent.kind === 'answered' ? `http_${sent.status}` : sent.error
  const delayMs = schedule.delayAfter(attemptNumber)
  return delayMs === null ? { kind: 'over', error } : { kind: 'retry', error, delayMs }
}

/**
 * The same for an attempt whose worker died, probably in the middle of it. The attempt counts, so that a delivery which kills its
 * workers still runs out of attempts. After the first loss the next attempt follows immediately: the receiver is not to blame. From
 * the second loss on the schedule applies: workers that keep dying must not use up every attempt of their jobs within minutes.
 */
export function decideRetryAfterLoss(
  losses: number,
  attemptNumber: number,
  schedule: RetrySchedule,
): Outcome {
  const delayMs = schedule.delayAfter(attemptNumber)
  if (delayMs === null) return { kind: 'over', error: 'interrupted' }
  return { kind: 'retry', error: 'interrupted', delayMs: losses > 1 ? delayMs : 0 }
}
