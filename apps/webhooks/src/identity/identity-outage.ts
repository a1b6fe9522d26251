import { AppError } from '@signet/errors'
import type { RequestMeta } from '@signet/telemetry'
import type { Observer } from '../observers/observer.js'
import { IdentityBusyError, IdentityUnavailableError } from './identity-client.js'

/** The error that a sign-in page shows while the identity server is unavailable. */
const OF_PAGES = {
  code: 'temporarily_unavailable',
  message: 'Signing in is not possible right now. Go back and try again in a moment.',
}

/** Runs a call to the identity server. If it is busy or unavailable, throws an error with a message for the user. */
export async function askIdentity<T>(
  observer: Pick<Observer, 'login'>,
  meta: RequestMeta,
  call: () => Promise<T>,
  unavailable = OF_PAGES,
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof IdentityBusyError) {
      observer.login('limited', {}, meta)
      throw new AppError(
        'limited',
        'too_many_requests',
        'Too many sign-ins. Please wait a little and try again.',
        { retryAfterSeconds: error.retryAfterSeconds },
      )
    }
    if (error instanceof IdentityUnavailableError) {
      observer.login('unavailable', {}, meta)
      throw new AppError('unavailable', unavailable.code, unavailable.message, {
        cause: error,
        retryAfterSeconds: 5,
      })
    }
    throw error
  }
}
