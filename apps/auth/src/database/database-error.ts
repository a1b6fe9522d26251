import { isDeadlock, isLockTimeout, isStatementTimeout, isUnavailable } from '@signet/db'
import type { AppError } from '@signet/errors'
import { authError } from '../errors/auth-error.js'

/** The response to an error of PostgreSQL that is likely to pass. Undefined for all others, which are faults of ours. */
export function databaseError(error: unknown): AppError | undefined {
  if (isLockTimeout(error) || isDeadlock(error))
    return authError('conflict', 'conflict', 'The resource is being changed by another request, try again', {
      cause: error,
    })
  // A statement has the same time limit as its request, and may reach it first.
  if (isStatementTimeout(error))
    return authError('timeout', 'request_timeout', 'The request took too long', { cause: error })
  if (isUnavailable(error))
    return authError('unavailable', 'unavailable', 'The service is unavailable, try again later', {
      cause: error,
      retryAfterSeconds: 1,
    })
  return undefined
}
