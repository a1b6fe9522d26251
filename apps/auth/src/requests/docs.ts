import type { JsonSchema, ParameterDoc, RouteDocs } from '@signet/http'

const ERROR_WORDS: Readonly<Record<number, string>> = {
  400: 'The request is invalid',
  401: 'No bearer token, or a second factor is required',
  403: 'The token is invalid or not allowed here',
  404: 'Not found',
  409: 'Conflict with another request',
  422: 'Refused by a rule',
  429: 'Too many requests',
  500: 'A server error',
}

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

type Options = {
  tag: 'Service' | 'Sign-in' | 'Verification' | 'Account' | 'Factors' | 'Administration' | 'Not available'
  security?: 'user' | 'admin'
  parameters?: readonly ParameterDoc[]
  /** Status and schema name of the success response; no schema for an empty or free-form one. */
  answer: { status?: number; description: string; schema?: string }
  errors?: readonly number[]
  description?: string
}

/** Documentation of a route, with the error schema filled in. */
export function docs(operationId: string, summary: string, options: Options): RouteDocs {
  const { status = 200, description, schema } = options.answer
  const errors = [...(options.errors ?? []), 500].map((code) => [
    code,
    { description: ERROR_WORDS[code] ?? 'Error', schema: ref('Error') },
  ])
  return {
    operationId,
    summary,
    tag: options.tag,
    ...(options.description === undefined ? {} : { description: options.description }),
    ...(options.security ? { security: [options.security] } : {}),
    ...(options.parameters ? { parameters: options.parameters } : {}),
    responses: {
      [status]: { description, ...(schema === undefined ? {} : { schema: ref(schema) }) },
      ...(Object.fromEntries(errors) as RouteDocs['responses']),
    },
  }
}

export const query = (name: string, description: string, required = false): ParameterDoc => ({
  name,
  in: 'query',
  required,
  schema: { type: 'string' },
  description,
})
