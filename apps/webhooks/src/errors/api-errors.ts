import { AppError, type AppErrorOptions } from '@signet/errors'

/** The same for unknown and deleted ids, and for those of other accounts. */
export const notFound = (): AppError => new AppError('not_found', 'not_found', 'There is no such resource')

export const badRequest = (message: string): AppError => new AppError('invalid', 'bad_request', message)

/** A rejected credential, with its `WWW-Authenticate` value (docs/specification.md#bearer-authentication). */
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
