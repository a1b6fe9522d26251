import { AppError, type ErrorKind } from '@signet/errors'
import type { ErrorRenderer } from '@signet/http'
import { durationText } from '@signet/language'
import { errorPage } from '@signet/pages'
import { PageError } from '../errors/page-error.js'
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
  notFound: () => new PageError('not_found', 'not_found', 'error.not_found'),
  methodNotAllowed: () => new PageError('method_not_allowed', 'invalid_request', 'error.method'),
  unexpected: (cause) => new PageError('internal', 'server_error', 'error.internal', { cause }),
  render(error, req) {
    observer.oauthError(error.code)
    // The authorization endpoint answers an unknown client with 400, not with a challenge: the person cannot authenticate the client.
    if (req.accepts('html') === false)
      return { headers: NO_STORE, body: { error: error.code, error_description: printable(error.message) } }
    const t = textsFor(req)
    const key = keyOf(error)
    const page = errorPage(t, {
      title: t((key && TITLES[key]) ?? TITLES[error.kind] ?? 'error.title.invalid'),
      message: withWait(t, key === null ? error.message : t(key), error.retryAfterSeconds),
      home: { href: responder.path('/'), label: t('error.start') },
    })
    const { headers = {}, body } = responder.render(page, { language: t.language })
    return { headers, body }
  },
})

const keyOf = (error: AppError): PageKey | null => (error instanceof PageError ? error.key : KEYS[error.kind])

/**
 * The text of an error that does not bring its own. Null if an application made the request: the message is for its developer, and
 * stays English.
 */
const KEYS: Readonly<Record<ErrorKind, PageKey | null>> = {
  invalid: null,
  unauthenticated: null,
  forbidden: null,
  not_found: 'error.not_found',
  method_not_allowed: 'error.method',
  conflict: null,
  gone: 'portal.refusal.gone',
  too_large: 'error.too-large',
  unprocessable: null,
  limited: 'error.limited',
  unavailable: 'error.unavailable',
  late: 'error.late',
  timeout: 'error.timeout',
  internal: 'error.internal',
}

const TITLES: Partial<Record<ErrorKind | PageKey, PageKey>> = {
  'error.over': 'error.title.over',
  'error.signed-out': 'error.title.signed-out',
  forbidden: 'error.title.forbidden',
  not_found: 'error.title.not_found',
  limited: 'error.title.limited',
  unavailable: 'error.title.unavailable',
}

/** Includes the time to wait, because people do not see the `Retry-After` header. */
function withWait(t: Texts, message: string, seconds: number | undefined): string {
  if (seconds === undefined) return message
  return t('error.wait', { message, time: durationText(t.language, Math.ceil(seconds)) })
}
