import { AppError } from '@signet/errors'
import type { ErrorRenderer } from '@signet/http'
import { errorPage, kitTexts } from '@signet/pages'
import type { Observer } from '../observers/observer.js'
import { printable } from '../oauth/oauth-error.js'
import type { PageResponder } from '../pages/page-responder.js'
import { NO_STORE } from './oauth-error-renderer.js'

/**
 * Errors of the authorization pages: a page for browsers, `{error, error_description}` for those who accept no HTML
 * (docs/specification.md#authorization-request).
 */
export const pageErrorRenderer = (
  observer: Pick<Observer, 'oauthError'>,
  responder: PageResponder,
): ErrorRenderer => ({
  bodyError: ({ kind, message }) =>
    new AppError(kind === 'too_large' ? 'too_large' : 'invalid', 'invalid_request', message),
  notFound: () => new AppError('not_found', 'not_found', 'There is nothing at this address.'),
  methodNotAllowed: () =>
    new AppError('method_not_allowed', 'invalid_request', 'This method is not allowed here.'),
  unexpected: (cause) =>
    new AppError('internal', 'server_error', 'Something went wrong on our side. Please try again.', {
      cause,
    }),
  render(error, req) {
    observer.oauthError(error.code)
    // The authorization endpoint answers an unknown client with 400, not with a challenge: there is nobody to log in.
    if (req.accepts('html') === false)
      return { headers: NO_STORE, body: { error: error.code, error_description: printable(error.message) } }
    const { headers = {}, body } = responder.render(
      errorPage(kitTexts('en'), {
        title: TITLES[error.kind] ?? 'Something went wrong',
        message: withWait(error),
        home: { href: responder.path('/'), label: 'Start page' },
      }),
    )
    return { headers, body }
  },
})

const TITLES: Partial<Record<AppError['kind'], string>> = {
  forbidden: 'This request was refused',
  not_found: 'Nothing here',
  limited: 'Too many attempts',
  unavailable: 'Not available right now',
  internal: 'Something went wrong',
}

/** A person does not see the header `Retry-After`. */
function withWait({ message, retryAfterSeconds }: AppError): string {
  if (retryAfterSeconds === undefined) return message
  const text = message.replace(/\.?$/, '.')
  return retryAfterSeconds > 120
    ? `${text} You can try again in ${Math.ceil(retryAfterSeconds / 60)} minutes.`
    : `${text} You can try again in ${Math.ceil(retryAfterSeconds)} seconds.`
}
