/**
 * What went wrong, in words that know no transport. `packages/http` owns the one table from kind to HTTP status.
 * `invalid`: the caller's input; `unprocessable`: well formed but refused by a rule; `limited`: try later;
 * `unavailable`: something we depend on is down; `timeout`: we took too long; `internal`: our fault.
 */
export const kinds = [
  'invalid',
  'unauthenticated',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'conflict',
  'too_large',
  'unprocessable',
  'limited',
  'unavailable',
  'timeout',
  'internal',
] as const
export type ErrorKind = (typeof kinds)[number]

export type AppErrorOptions = {
  /** For the log only; never shown to callers. */
  cause?: unknown
  /** Whole seconds after which a retry makes sense (becomes `Retry-After`). */
  retryAfterSeconds?: number
  /** Extra members of the answer that the caller may see, e.g. the reasons for a weak password. */
  details?: Readonly<Record<string, unknown>>
}

/** An error whose `code` (stable, snake_case) and `message` are written for the caller. */
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
