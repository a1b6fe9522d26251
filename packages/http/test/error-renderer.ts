import { AppError } from '@signet/errors'
import type { ErrorRenderer } from '../src/index.js'

/** Answers with the code and the message of an error. */
export const errorRenderer: ErrorRenderer = {
  bodyError: ({ kind, message }) =>
    new AppError(kind === 'too_large' ? 'too_large' : 'invalid', `body_${kind}`, message),
  notFound: () => new AppError('not_found', 'not_found', 'No such thing'),
  methodNotAllowed: () => new AppError('method_not_allowed', 'bad_method', 'Not like this'),
  unexpected: (cause) => new AppError('internal', 'internal', 'Something broke', { cause }),
  render: (error) => ({ body: { code: error.code, message: error.message } }),
}
