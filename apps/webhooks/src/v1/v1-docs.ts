import { type JsonSchema, type RouteDocs } from '@signet/http'

type Responses = RouteDocs['responses']

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

/** Components that every API of this service shares; errors have one form (webhooks contract A.9). */
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
            description:
              '`bad_request`, `unauthorized`, `forbidden`, `not_found`, `too_many_requests`, `unavailable` or `internal`',
          },
          message: { type: 'string', description: 'For people; may change at any time' },
        },
      },
    },
  },
}

const REASONS: Record<number, string> = {
  400: '`bad_request`: a parameter is missing or invalid',
  401: '`unauthorized`: the Bearer token is missing or invalid',
  403: '`forbidden`: the token lacks the scope `mcp:connect`',
  404: '`not_found`: there is no such subscription',
  409: '`conflict`: the same key came with other content before',
  413: '`bad_request`: the body is too large',
  429: '`too_many_requests`: with `Retry-After`, slow down; without, the subscription quota is full',
  503: '`unavailable`: a required service is down for a moment; `Retry-After` says when to try again',
}

/** Documentation of the answers of a route: its success and the errors it can give. */
export function responses(success: Responses, ...errors: number[]): Responses {
  const failures = [...errors, 503].map((status) => [
    status,
    { description: REASONS[status] ?? '', schema: ref('Error') },
  ])
  return { ...success, ...(Object.fromEntries(failures) as Responses) }
}
