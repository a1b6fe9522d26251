import { isCheckViolation, isDeadlock, isStatementTimeout, isUnavailable } from '@signet/db'
import { AppError } from '@signet/errors'
import { JwksUnavailableError } from '@signet/jwt'
import { SignedOutError } from '../forms/form-guard.js'
import { isSessionGone } from '../sessions/session-gone.js'

const RETRY_AFTER_SECONDS = 5

/**
 * For error handlers. An unreachable or slow database, a transaction that it aborted in favor of another one, and unreachable signing
 * keys become 503 with the API's own code. A write for an account that was deleted at the same moment becomes 410, and one for a browser
 * session that ended at the same moment the page about that.
 */
export const translateOutage =
  (code: string) =>
  (error: unknown): AppError | undefined => {
    if (isCheckViolation(error, 'account_is_not_deleted'))
      return new AppError('gone', 'account_deleted', 'This account was deleted')
    if (isSessionGone(error)) return new SignedOutError()
    const isPassing = isUnavailable(error) || isStatementTimeout(error) || isDeadlock(error)
    return isPassing || error instanceof JwksUnavailableError ? unavailable(code, error) : undefined
  }

const unavailable = (code: string, cause: unknown): AppError =>
  new AppError('unavailable', code, 'A required service is temporarily unavailable', {
    cause,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
