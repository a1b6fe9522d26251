import type { AppError, AppErrorOptions } from '@signet/errors'
import type { RequestMeta } from '@signet/telemetry'
import { PageError } from '../errors/page-error.js'
import type { Observer } from '../observers/observer.js'
import { IdentityBusyError, IdentityUnavailableError } from './identity-client.js'

/** The error that a sign-in page shows while the identity server is unavailable. */
const ofPages = (options: AppErrorOptions): AppError =>
  new PageError('unavailable', 'temporarily_unavailable', 'error.sign-in.unavailable', options)

/** Runs a call to the identity server. If it is busy or unavailable, throws an error with a message for the user. */
export async function askIdentity<T>(
  observer: Pick<Observer, 'login'>,
  meta: RequestMeta,
  call: () => Promise<T>,
  unavailable = ofPages,
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof IdentityBusyError) {
      observer.login('limited', {}, meta)
      const { retryAfterSeconds } = error
      throw new PageError('limited', 'too_many_requests', 'error.sign-in.busy', { retryAfterSeconds })
    }
    if (error instanceof IdentityUnavailableError) {
      observer.login('unavailable', {}, meta)
      throw unavailable({ cause: error, retryAfterSeconds: 5 })
    }
    throw error
  }
}
