import { AppError } from '@signet/errors'
import type { ErrorRenderer } from '@signet/http'
import { durationText } from '@signet/language'
import { errorPage } from '@signet/pages'
import type { Observer } from '../observers/observer.js'
import { printable } from '../oauth/oauth-error.js'
import type { PageResponder } from '../pages/page-responder.js'
import { textsFor, type PageKey, type Texts } from '../pages/texts.js'
import { NO_STORE } from './oauth-error-renderer.js'

/**
 * Errors of the authorization pages: a page for browsers, and `{error, error_description}` for clients that do not accept HTML
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
    // The authorization endpoint answers an unknown client with 400, not with a challenge: the person cannot authenticate the client.
    if (req.accepts('html') === false)
      return { headers: NO_STORE, body: { error: error.code, error_description: printable(error.message) } }
    const t = textsFor(req)
    const page = errorPage(t, {
      title: t(titleOf(error)),
      message: messageOf(t, error),
      home: { href: responder.path('/'), label: t('error.start') },
    })
    const { headers = {}, body } = responder.render(page, { language: t.language })
    return { headers, body }
  },
})

function titleOf({ message, kind }: AppError): PageKey {
  const known = MESSAGES.get(message)
  return (known && TITLES[known]) ?? TITLES[kind] ?? 'error.title.invalid'
}

const TITLES: Partial<Record<AppError['kind'] | PageKey, PageKey>> = {
  'error.over': 'error.title.over',
  'error.signed-out': 'error.title.signed-out',
  forbidden: 'error.title.forbidden',
  not_found: 'error.title.not_found',
  limited: 'error.title.limited',
  unavailable: 'error.title.unavailable',
}

/** Errors that a person may see. All others are about a request that an application made, and are for its developer. */
const MESSAGES: ReadonlyMap<string, PageKey> = new Map(
  Object.entries({
    'Something went wrong on our side. Please try again.': 'error.internal',
    'There is nothing at this address.': 'error.not_found',
    'There is nothing at this path': 'error.not_found',
    'This method is not allowed here.': 'error.method',
    'This form did not come from a page open in this browser.': 'error.form',
    'This form belongs to another sign-in.': 'error.other-sign-in',
    'You have been signed out in the meantime.': 'error.signed-out',
    'This application is no longer registered. Remove the connection in the application and add it again.':
      'error.unregistered',
    'Too many requests': 'error.limited',
    'It was already answered, took longer than ten minutes, or belongs to another browser.': 'error.over',
  }),
)

/** Includes the time to wait, because people do not see the `Retry-After` header. */
function messageOf(t: Texts, { message, retryAfterSeconds }: AppError): string {
  const known = MESSAGES.get(message)
  const text = known === undefined ? message : t(known)
  if (retryAfterSeconds === undefined) return text
  return t('error.wait', { message: text, time: durationText(t.language, Math.ceil(retryAfterSeconds)) })
}
