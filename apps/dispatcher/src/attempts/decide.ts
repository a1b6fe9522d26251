import type { FailureReason, RetrySchedule } from '@signet/webhook-core'
import type { Outcome } from '../deliveries/attempt-store.js'
import type { SendResult } from '../sending/attempt-failure.js'

/** A 2xx in time. Anything else, including a redirect, is a failure. */
export const isSuccess = (sent: SendResult): boolean =>
  sent.kind === 'answered' && sent.status >= 200 && sent.status <= 299

/** A failure is retried while attempts are left. */
export function decide(sent: SendResult, attemptNumber: number, schedule: RetrySchedule): Outcome {
  if (isSuccess(sent)) return { kind: 'delivered' }
  const error: FailureReason = sent.kind === 'answered' ? `http_${sent.status}` : sent.error
  const delayMs = schedule.delayAfter(attemptNumber)
  return delayMs === null ? { kind: 'over', error } : { kind: 'retry', error, delayMs }
}
