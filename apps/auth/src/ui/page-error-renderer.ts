import type { AppError } from '@signet/errors'
import type { ErrorRenderer } from '@signet/http'
import { errorPage, pageAnswer } from '@signet/pages'
import { authError } from '../errors/auth-error.js'
import { refusalText } from './context/refusals.js'

type PageErrorConfig = { apiExternalUrl: string; uiEnabled: boolean }

/** Errors of the pages, as pages. */
export const pageErrorRenderer = ({ apiExternalUrl, uiEnabled }: PageErrorConfig): ErrorRenderer => ({
  bodyError: ({ kind }) =>
    kind === 'too_large'
      ? authError('too_large', 'request_entity_too_large', 'The form is too large.')
      : authError('invalid', 'validation_failed', 'The form could not be read.'),
  notFound: () => authError('not_found', 'not_found', 'There is nothing at this address.'),
  methodNotAllowed: () =>
    authError('method_not_allowed', 'method_not_allowed', 'This address is not opened like that.'),
  unexpected: (cause) =>
    authError('internal', 'unexpected_failure', 'Something went wrong on our side. Please try again.', {
      cause,
    }),
  render(error) {
    const base = new URL(apiExternalUrl).pathname.replace(/\/+$/, '')
    const page = errorPage({
      title: TITLES[error.kind] ?? 'This did not work',
      message: messageOf(error),
      home: uiEnabled ? { href: `${base}/ui`, label: 'Sign in' } : undefined,
    })
    const { headers = {}, body } = pageAnswer(page, {
      secure: apiExternalUrl.startsWith('https:'),
      ...(uiEnabled ? { icon: `${base}/ui/favicon.svg` } : {}),
    })
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

// Details of server errors are only for the log.
const messageOf = (error: AppError): string =>
  error.kind === 'internal' ? 'Something went wrong on our side. Please try again.' : refusalText(error)
