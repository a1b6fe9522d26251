import type { FailureReason, RetrySchedule } from '@signet/webhook-core'
import type { Outcome } from '../deliveries/attempt-store.js'
import type { SendResult } from '../sending/attempt-failure.js'

/** A 2xx in time. Anything else, including a redirect, is a failure. */
export const isSuccess = (sent: SendResult): boolean =>
  sent.kind === 'answered' && sent.status >= 200 && sent.status <= 299

/** Whether a failed attempt is retried, and when: while attempts are left, after the delay of the schedule. */
export function decide(sent: SendResult, attemptNumber: number, schedule: RetrySchedule): Outcome {
  if (isSuccess(sent)) return { kind: 'delivered' }
  const error: FailureReason = sent.kind === 'answered' ? `http_${sent.status}` : sent.error
  const delayMs = schedule.delayAfter(attemptNumber)
  return delayMs === null ? { kind: 'over', error } : { kind: 'retry', error, delayMs }
}
