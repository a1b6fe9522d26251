import type { AppError, ErrorKind } from '@signet/errors'
import type { Request } from 'express'

/** The only table that maps kinds of errors to HTTP statuses. */
const STATUS: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  late: 408,
  conflict: 409,
  gone: 410,
  too_large: 413,
  unprocessable: 422,
  limited: 429,
  internal: 500,
  unavailable: 503,
  timeout: 504,
}

export const statusOf = (error: AppError): number => STATUS[error.kind]

/** Why a request's body or query cannot be used, before each API assigns its own code. */
export type BodyProblem =
  | { kind: 'query'; message: string }
  | { kind: 'missing' | 'malformed' | 'content_type' | 'too_large'; message: string }
  | { kind: 'schema'; message: string; field: string; keyword: string }

export type ErrorAnswer = { headers?: Record<string, string>; body: unknown }

/** How one API words its errors. Status, `Retry-After` and logging are the same for all of them. */
export type ErrorRenderer = {
  bodyError(problem: BodyProblem): AppError
  notFound(): AppError
  methodNotAllowed(): AppError
  /** Wraps an unexpected error; `cause` goes to the log only. */
  unexpected(cause: unknown): AppError
  render(error: AppError, req: Request): ErrorAnswer
}
