import { type ErrorWord, type FailureWord } from './error-words.js'
import { type RetrySchedule } from './retry-schedule.js'

/** What came of sending one request; its failures are values. */
export type SendResult =
  { kind: 'answered'; status: number } | { kind: 'failed'; error: FailureWord | `http_${number}` }

/** What an attempt means for its delivery. `error` is the new `last_error`. */
export type Outcome =
  | { kind: 'delivered' }
  | { kind: 'retry'; error: ErrorWord; delayMs: number }
  | { kind: 'over'; error: ErrorWord }

/** 2xx in time is success; everything else, redirects included, is a failure and is tried again while attempts are left. */
export function decide(sent: SendResult, attemptNumber: number, schedule: RetrySchedule): Outcome {
  if (sent.kind === 'answered' && sent.status >= 200 && sent.status <= 299) return { kind: 'delivered' }
  const error: ErrorWord = sent.kind === 'answered' ? `http_${sent.status}` : sent.error
  const delayMs = schedule.delayAfter(attemptNumber)
  return delayMs === null ? { kind: 'over', error } : { kind: 'retry', error, delayMs }
}
