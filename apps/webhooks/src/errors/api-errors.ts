import { AppError, type AppErrorOptions } from '@signet/errors'

/** Identical for unknown, deleted and foreign ids. */
export const notFound = (): AppError => new AppError('not_found', 'not_found', 'There is no such resource')

export const badRequest = (message: string): AppError => new AppError('invalid', 'bad_request', message)

/** A refused credential together with the `WWW-Authenticate` value that goes with it (docs/specification.md#bearer-authentication). */
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
