import type { JsonSchema, RouteDocs } from '@signet/http'

type Responses = RouteDocs['responses']

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** The errors of /v1, /account and the internal API (docs/specification.md#common-rules). */
export const errorReasons: readonly { status: number; code: string; when: string }[] = [
  { status: 400, code: 'bad_request', when: 'a parameter is missing or invalid' },
  { status: 401, code: 'unauthorized', when: 'the Bearer token is missing or invalid' },
  { status: 403, code: 'forbidden', when: 'the token lacks the scope for this' },
  { status: 404, code: 'not_found', when: 'there is no such resource, or it is not yours' },
  { status: 405, code: 'bad_request', when: 'another method; `Allow` names the right ones' },
  { status: 409, code: 'conflict', when: 'the resource is in another state: the message says which' },
  { status: 410, code: 'account_deleted', when: 'the account was deleted, for good' },
  { status: 413, code: 'bad_request', when: 'the body is too large' },
  {
    status: 429,
    code: 'too_many_requests',
    when: 'too fast, with `Retry-After`; or a quota is full, without it',
  },
  { status: 500, code: 'internal', when: 'our fault; check the current state before retrying' },
  {
    status: 503,
    code: 'unavailable',
    when: 'a required service is down for a moment; `Retry-After` says when to try again',
  },
  {
    status: 504,
    code: 'internal',
    when: 'it took longer than 30 seconds; check the current state before retrying',
  },
]

/** Components that every API of this service shares; errors have one form (docs/specification.md#common-rules). */
export const commonComponents: Readonly<Record<string, JsonSchema>> = {
  Ok: { type: 'object', required: ['ok'], properties: { ok: { type: 'boolean', const: true } } },
  Error: {
    type: 'object',
    required: ['error'],
    properties: {
      error: {
        type: 'object',
        required: ['code', 'message'],
        properties: {
          code: {
            type: 'string',
            description: [...new Set(errorReasons.map(({ code }) => `\`${code}\``))].join(', '),
          },
          message: { type: 'string', description: 'For people; may change at any time' },
        },
      },
    },
  },
}

const reasonsOf = (status: number): string =>
  errorReasons
    .filter((reason) => reason.status === status)
    .map(({ code, when }) => `\`${code}\`: ${when}`)
    .join('; ')

/** Documentation of the answers of a route: its success and the errors it can give. */
export function responses(success: Responses, ...errors: number[]): Responses {
  const failures = [...errors, 500, 503, 504].map((status) => [
    status,
    { description: reasonsOf(status), schema: ref('Error') },
  ])
  return { ...success, ...(Object.fromEntries(failures) as Responses) }
}
