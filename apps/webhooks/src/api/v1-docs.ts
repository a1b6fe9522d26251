import type { JsonSchema, ParameterDoc, ResponseDoc, RouteDocs } from '@signet/http'
import { errorHeaders, id, object, ref, text } from '../schemas/schema-parts.js'

type Responses = RouteDocs['responses']
type Reason = { status: number; code: string; when: string; message: string }

/** The errors of /v1, /account and the internal API (docs/specification.md#common-rules), each with a message as an example. */
export const errorReasons: readonly Reason[] = [
  {
    status: 400,
    code: 'bad_request',
    when: 'a parameter is missing or invalid',
    message: 'url must be an https URL',
  },
  {
    status: 401,
    code: 'unauthorized',
    when: 'the Bearer token is missing or invalid',
    message: 'The access token is invalid',
  },
  {
    status: 403,
    code: 'forbidden',
    when: 'the token lacks the scope for this',
    message: 'The access token lacks the scope',
  },
  {
    status: 404,
    code: 'not_found',
    when: 'there is no such resource, or it is not yours',
    message: 'There is no such resource',
  },
  {
    status: 405,
    code: 'bad_request',
    when: 'another method; `Allow` names the right ones',
    message: 'Method not allowed here',
  },
  {
    status: 408,
    code: 'bad_request',
    when: 'the body did not arrive within 30 seconds',
    message: 'The body of the request did not arrive in time',
  },
  {
    status: 409,
    code: 'conflict',
    when: 'the resource is in another state: the message says which',
    message: 'Another secret is already pending',
  },
  {
    status: 410,
    code: 'account_deleted',
    when: 'the account was deleted permanently',
    message: 'The account was deleted',
  },
  { status: 413, code: 'bad_request', when: 'the body is too large', message: 'The body is too large' },
  {
    status: 429,
    code: 'too_many_requests',
    when: 'too fast, with `Retry-After`; or a quota is full, without it',
    message: 'Too many requests, slow down',
  },
  {
    status: 500,
    code: 'internal',
    when: 'our fault; check the current state before retrying',
    message: 'Something went wrong',
  },
  {
    status: 503,
    code: 'unavailable',
    when: 'a required service is temporarily unavailable; `Retry-After` says when to try again',
    message: 'The service is unavailable, try again later',
  },
  {
    status: 504,
    code: 'internal',
    when: 'it took longer than 30 seconds; check the current state before retrying',
    message: 'The request took too long',
  },
]

const codes = [...new Set(errorReasons.map(({ code }) => code))]

/** Components that all APIs of this service share. Errors have one form (docs/specification.md#common-rules). */
export const commonComponents: Readonly<Record<string, JsonSchema>> = {
  Ok: object({ ok: { type: 'boolean', const: true } }),
  Error: object({
    error: object({
      code: { type: 'string', enum: codes, description: 'Rely on this and on the status.' },
      message: text('For people; may change at any time', 'There is no such resource'),
    }),
  }),
}

/** The ids in paths. */
export const pathParameters: Readonly<Record<string, Pick<ParameterDoc, 'schema' | 'description'>>> = {
  endpoint_id: { schema: id('The webhook'), description: 'The webhook.' },
  delivery_id: { schema: id('The delivery', '81501'), description: 'The delivery.' },
  recovery_id: { schema: id('The recovery', '12'), description: 'The recovery.' },
  id: { schema: id('The personal token', '31'), description: 'The personal token.' },
  account_id: { schema: { type: 'string', format: 'uuid' }, description: 'The account.' },
  audio_id: { schema: { type: 'string', minLength: 1, maxLength: 128 }, description: 'The recording.' },
}

function failure(status: number): ResponseDoc {
  const reasons = errorReasons.filter((reason) => reason.status === status)
  const [first] = reasons
  const headers = errorHeaders[status]
  return {
    description: reasons.map(({ code, when }) => `\`${code}\`: ${when}`).join('; '),
    schema: ref('Error'),
    example: { error: { code: first?.code, message: first?.message } },
    ...(headers ? { headers } : {}),
  }
}

/**
 * Documents the responses of a route: its success, the errors it can return, and those that any address, any body and any outage can
 * cause.
 */
export function responses(success: Responses, ...errors: number[]): Responses {
  const late = errors.includes(413) ? [408] : []
  const failures = [400, ...late, ...errors, 500, 503, 504].map((status) => [status, failure(status)])
  return { ...success, ...(Object.fromEntries(failures) as Responses) }
}
