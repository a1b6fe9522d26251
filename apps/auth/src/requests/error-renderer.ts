import type { AppError } from '@signet/errors'
import { statusOf, type BodyProblem, type ErrorRenderer } from '@signet/http'
import type { Request } from 'express'
import { API_VERSION, isVersioned } from './versioning.js'
import { authError } from '../errors/auth-error.js'

/** The two error bodies of docs/specification.md#errors. */
export const errorRenderer: ErrorRenderer = {
  bodyError: (problem) => bodyError(problem),
  notFound: () => authError('not_found', 'not_found', 'No such path'),
  methodNotAllowed: () => authError('method_not_allowed', 'method_not_allowed', 'Method not allowed here'),
  unexpected: (cause) =>
    authError(
      'internal',
      'unexpected_failure',
      'Unexpected failure, please check server logs for more information',
      {
        cause,
      },
    ),
  render(error, req) {
    const headers = { 'x-sb-error-code': error.code }
    if (!isVersioned(req)) return { headers, body: initialBody(error, req) }
    return {
      headers: { ...headers, 'X-Supabase-Api-Version': API_VERSION },
      body: { code: error.code, message: error.message, ...error.details },
    }
  },
}

function initialBody(error: AppError, req: Request) {
  const status = statusOf(error)
  return {
    code: status,
    error_code: error.code,
    msg: error.message,
    ...error.details,
    ...(status >= 500 ? { error_id: req.res?.getHeader('X-Request-Id') } : {}),
  }
}

function bodyError(problem: BodyProblem): AppError {
  if (problem.kind === 'too_large')
    return authError('too_large', 'request_entity_too_large', 'The body is larger than 1 MiB')
  if (problem.kind === 'query') return authError('invalid', 'validation_failed', problem.message)
  return authError('invalid', 'bad_json', `Could not read the body: ${problem.message}`)
}
