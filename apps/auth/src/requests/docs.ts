import type { JsonSchema, ParameterDoc, ResponseDoc, RouteDocs } from '@signet/http'
import type { ErrorCode } from '../errors/error-codes.js'

type ErrorDoc = { description: string; code: ErrorCode; message: string }

const ERRORS: Readonly<Record<number, ErrorDoc>> = {
  400: {
    description: 'The request is invalid',
    code: 'validation_failed',
    message: 'Unable to validate email address: invalid format',
  },
  401: {
    description: 'No bearer token, or a second factor is required',
    code: 'no_authorization',
    message: 'This endpoint requires a bearer token',
  },
  403: {
    description: 'The token is invalid or not allowed here',
    code: 'bad_jwt',
    message: 'The bearer token is invalid',
  },
  404: { description: 'Not found', code: 'user_not_found', message: 'User not found' },
  409: {
    description: 'Conflict with another request',
    code: 'conflict',
    message: 'The resource is being changed by another request, try again',
  },
  413: {
    description: 'The body is larger than 1 MiB',
    code: 'request_entity_too_large',
    message: 'The body is larger than 1 MiB',
  },
  408: {
    description: 'The body did not arrive in time',
    code: 'request_timeout',
    message: 'The body of the request did not arrive in time',
  },
  422: { description: 'Refused by a rule', code: 'weak_password', message: 'The password is too short' },
  429: {
    description: 'Too many requests',
    code: 'over_request_rate_limit',
    message: 'Request rate limit reached',
  },
  500: {
    description: 'A server error',
    code: 'unexpected_failure',
    message: 'Unexpected failure, please check server logs for more information',
  },
  503: {
    description: 'Unavailable for a moment',
    code: 'unavailable',
    message: 'The service is unavailable, try again later',
  },
  504: { description: 'It took too long', code: 'request_timeout', message: 'The request took too long' },
}

const RETRY_AFTER: ResponseDoc['headers'] = {
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 0 } },
}

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

export function errorDoc(status: number): ResponseDoc {
  const error = ERRORS[status]
  if (error === undefined) throw new Error(`Nothing says what ${status} means`)
  return {
    description: error.description,
    schema: ref('Error'),
    example: { code: status, error_code: error.code, msg: error.message },
    ...(status === 429 || status === 503 ? { headers: RETRY_AFTER } : {}),
  }
}

export type Tag =
  | 'Service'
  | 'Sign-in'
  | 'Verification'
  | 'Account'
  | 'Factors'
  | 'Passkeys'
  | 'Administration'
  | 'Not available'

type Options = {
  tag: Tag
  security?: 'user' | 'admin'
  parameters?: readonly ParameterDoc[]
  body?: JsonSchema
  /** The successful response. `schema` names its body; without one, it has no body. */
  answer: { status?: number; description: string; schema?: string; mediaType?: string }
  /** Other responses that are not errors, such as a redirect. */
  alternatives?: RouteDocs['responses']
  /** Errors that are specific to the route. api-document.ts adds those that any route may have. */
  errors?: readonly number[]
  description?: string
}

/** Documentation of a route, with the errors filled in. */
export function docs(operationId: string, summary: string, options: Options): RouteDocs {
  const { tag, security, answer, alternatives, errors = [], ...given } = options
  const { status = 200, schema, ...success } = answer
  return {
    operationId,
    summary,
    tag,
    ...(security ? { security: [security] } : {}),
    ...(given.description === undefined ? {} : { description: given.description }),
    ...(given.parameters ? { parameters: given.parameters } : {}),
    ...(given.body ? { body: given.body } : {}),
    responses: {
      [status]: { ...success, ...(schema === undefined ? {} : { schema: ref(schema) }) },
      ...alternatives,
      ...(Object.fromEntries(errors.map((code) => [code, errorDoc(code)])) as RouteDocs['responses']),
    },
  }
}

export const query = (
  name: string,
  description: string,
  required = false,
  schema: JsonSchema = { type: 'string' },
): ParameterDoc => ({ name, in: 'query', required, schema, description })
