import { AppError } from '@signet/errors'
import type { ErrorRenderer } from '@signet/http'
import type { Observer } from '../observers/observer.js'
import { printable } from '../oauth/oauth-error.js'

/**
 * Errors of the OAuth endpoints: `{"error", "error_description"}` (RFC 6749 section 5.2). `bodyCode` is the code for a body that cannot
 * be read, because registration uses a different one.
 */
export const oauthErrorRenderer = (
  bodyCode: string,
  observer: Pick<Observer, 'oauthError'>,
): ErrorRenderer => ({
  bodyError: ({ kind, message }) =>
    new AppError(kind === 'too_large' ? 'too_large' : 'invalid', bodyCode, message),
  notFound: () => new AppError('not_found', 'not_found', 'There is nothing at this path'),
  methodNotAllowed: () =>
    new AppError('method_not_allowed', 'invalid_request', 'This method is not allowed here'),
  unexpected: (cause) =>
    new AppError('internal', 'server_error', 'Something went wrong on our side', { cause }),
  render(error) {
    observer.oauthError(error.code)
    return {
      headers: { ...NO_STORE, ...challengeOf(error) },
      body: { error: error.code, error_description: printable(error.message) },
    }
  },
})

/** RFC 6749 section 5.1 requires these on every answer of these endpoints. */
export const NO_STORE = { 'Cache-Control': 'no-store', Pragma: 'no-cache' }

// RFC 6749 section 5.2. The error is repeated in the challenge because some clients throw it before they read the body.
const challengeOf = (error: AppError): Record<string, string> =>
  error.code === 'invalid_client' && error.kind === 'unauthenticated'
    ? {
        'WWW-Authenticate': `Basic realm="oauth", error="${error.code}", error_description="${error.message}"`,
      }
    : {}
