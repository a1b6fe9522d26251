import { AppError } from '@signet/errors'
import type { ErrorRenderer } from '@signet/http'
import { ChallengeError, notFound } from '../errors/api-errors.js'

/** Errors of /v1, /account and the internal API: `{"error": {"code", "message"}}` (docs/specification.md#common-rules). */
export const v1ErrorRenderer: ErrorRenderer = {
  bodyError: ({ kind, message }) =>
    new AppError(kind === 'too_large' ? 'too_large' : 'invalid', 'bad_request', message),
  notFound: () => notFound(),
  methodNotAllowed: () =>
    new AppError('method_not_allowed', 'bad_request', 'This method is not allowed for this path'),
  unexpected: (cause) => new AppError('internal', 'internal', 'Something went wrong on our side', { cause }),
  render: (error) => ({
    headers: {
      'Cache-Control': 'no-store',
      ...(error instanceof ChallengeError ? { 'WWW-Authenticate': error.challenge } : {}),
    },
    body: { error: { code: codeOf(error), message: error.message } },
  }),
}

/** Callers see one code for every failure on our side, timeouts included, and one for every mistake in how a request is sent. */
function codeOf({ kind, code }: AppError): string {
  if (kind === 'timeout') return 'internal'
  return kind === 'late' ? 'bad_request' : code
}
