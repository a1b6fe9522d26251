import { isAppError } from '@signet/errors'
import { authError } from '../errors/auth-error.js'

/** Roughly the time that a full queue takes to drain. */
const RETRY_AFTER_SECONDS = 5

/** Refuses a job for which the queue has no room. Nothing was hashed or compared for it. */
export const overCapacity = () =>
  authError('unavailable', 'over_capacity', 'The server is busy, try again later', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })

export const isOverCapacity = (error: unknown): boolean => isAppError(error) && error.code === 'over_capacity'
