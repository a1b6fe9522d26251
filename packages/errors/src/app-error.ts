/**
 * Kinds of errors, independent of any transport. `packages/http` maps them to HTTP status codes. `invalid`: bad input; `unprocessable`:
 * well formed but violates a rule; `gone`: deleted permanently; `limited`: retry later; `unavailable`: a dependency is down; `late`:
 * the caller took too long; `timeout`: we took too long; `internal`: our fault.
 */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'gone'
  | 'too_large'
  | 'unprocessable'
  | 'limited'
  | 'unavailable'
  | 'late'
  | 'timeout'
  | 'internal'

export type AppErrorOptions = {
  /** For the log only. Never shown to callers. */
  cause?: unknown
  /** Seconds after which to retry, as an integer. Becomes `Retry-After`. */
  retryAfterSeconds?: number
  /** Additional members of the response that the caller may see, e.g. why a password is weak. */
  details?: Readonly<Record<string, unknown>>
}

/** An error with a `code` (stable, snake_case) and a `message` for the caller. */
export class AppError extends Error {
  readonly kind: ErrorKind
  readonly code: string
  readonly retryAfterSeconds: number | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(kind: ErrorKind, code: string, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.kind = kind
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds
    this.details = options.details
  }
}

export const isAppError = (error: unknown): error is AppError => error instanceof AppError
