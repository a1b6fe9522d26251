import type { JsonSchema, ParameterDoc, ResponseDoc } from '@signet/http'

/** Parts that the schemas of several concepts share. Each has an example; the examples of whole bodies are built from them. */

const ID = { type: 'string', pattern: '^[1-9][0-9]{0,18}$' }

export const id = (description: string, example = '7204'): JsonSchema => ({
  ...ID,
  description: `${description}. Decimal digits.`,
  examples: [example],
})

export const eventId = (description: string): JsonSchema => ({
  type: 'string',
  pattern: '^evt_[0-9a-f]{32}$',
  description,
  examples: ['evt_019c12f0a4b87cc2a3d5e6f708192a3b'],
})

export const text = (description: string, example: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
  ...more,
})

export const time: JsonSchema = { type: 'string', format: 'date-time' }

/** Responses contain no null: a time that does not apply is an empty string (docs/specification.md#common-rules). */
export const timeOrEmpty = (description: string): JsonSchema => ({
  description,
  anyOf: [time, { type: 'string', const: '' }],
})

export const count = (description: string, example = 0): JsonSchema => ({
  type: 'integer',
  minimum: 0,
  description,
  examples: [example],
})

/** An object with these members. All are required except those with a `?`. */
export function object(members: Readonly<Record<string, JsonSchema>>, description?: string): JsonSchema {
  const names = Object.keys(members)
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    required: names.filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(
      Object.entries(members).map(([name, schema]) => [name.replace(/\?$/, ''), schema]),
    ),
  }
}

export const listOf = (items: JsonSchema, description?: string): JsonSchema => ({
  type: 'array',
  ...(description === undefined ? {} : { description }),
  items,
})

/** A success with one resource, or with a list of them. */
export const oneItem = (description: string, item: JsonSchema) => ({ description, schema: object({ item }) })

export const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` })

export const query = (name: string, schema: JsonSchema, description: string): ParameterDoc => ({
  name,
  in: 'query',
  schema,
  description,
})

export const pageSize = query(
  'page_size',
  { type: 'integer', minimum: 1, maximum: 999_999, default: 20 },
  'At most 100; more counts as 100.',
)

const retryAfter = (required: boolean): ResponseDoc['headers'] => ({
  'Retry-After': { description: 'Seconds to wait.', required, schema: { type: 'integer', minimum: 0 } },
})

/** Headers of errors, by status. */
export const errorHeaders: Readonly<Record<number, ResponseDoc['headers']>> = {
  429: retryAfter(false),
  503: retryAfter(true),
}
