import { isUnavailable } from '@signet/db'
import { AppError } from '@signet/errors'

const RETRY_AFTER_SECONDS = 5

/** For error handlers: a database that cannot be reached becomes 503 with the code of the API at hand. */
export const translateOutage =
  (code: string) =>
  (error: unknown): AppError | undefined =>
    isUnavailable(error) ? unavailable(code, error) : undefined

export const unavailable = (code: string, cause: unknown): AppError =>
  new AppError('unavailable', code, 'A required service is temporarily unavailable', {
    cause,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
