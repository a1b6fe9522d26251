import { AppError, type AppErrorOptions } from '@signet/errors'
import { type Dialect } from '@signet/http'

/** Errors of /v1, /account and the internal API: `{"error": {"code", "message"}}` (webhooks contract A.9, E.1). */
export const v1Dialect: Dialect = {
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
    // Callers know one word for all that is our fault, a request that took too long included.
    body: { error: { code: error.kind === 'timeout' ? 'internal' : error.code, message: error.message } },
  }),
}

/** Identical for unknown, deleted and foreign ids. */
export const notFound = (): AppError => new AppError('not_found', 'not_found', 'There is no such resource')

export const badRequest = (message: string): AppError => new AppError('invalid', 'bad_request', message)

/** A refused credential together with the `WWW-Authenticate` value that goes with it (webhooks contract B.2). */
export class ChallengeError extends AppError {
  constructor(
    kind: 'unauthenticated' | 'forbidden',
    message: string,
    readonly challenge: string,
    options: AppErrorOptions = {},
  ) {
    super(kind, kind === 'forbidden' ? 'forbidden' : 'unauthorized', message, options)
  }
}
