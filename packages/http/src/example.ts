import type { JsonSchema } from './schema.js'

type Schemas = Readonly<Record<string, JsonSchema>>
type Shape = {
  $ref?: string
  examples?: unknown[]
  const?: unknown
  enum?: unknown[]
  default?: unknown
  format?: string
  type?: string | string[]
  properties?: Schemas
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
}

const BY_FORMAT: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'date-time': '2026-01-31T09:00:00.000Z',
    uuid: '7b1e9c52-3f0a-4a8e-9d1f-2c6b5e4a1d30',
    email: 'ada@example.com',
    uri: 'https://app.example.com/welcome',
  }),
)
const BY_TYPE: ReadonlyMap<string, unknown> = new Map(
  Object.entries({ boolean: true, integer: 1, number: 1, object: {} }),
)

/**
 * Builds a value of a schema from the examples of its parts. Optional members are included if they have an example. Throws if there is
 * nothing to build a text from.
 */
export function exampleOf(schema: JsonSchema, schemas: Schemas): unknown {
  const value = find(schema, schemas)
  if (value === undefined) throw new Error(`This schema needs an example: ${JSON.stringify(schema)}`)
  return value
}

function find(schema: JsonSchema, schemas: Schemas): unknown {
  const shape: Shape = schema
  if (shape.$ref !== undefined) return find(componentOf(shape.$ref, schemas), schemas)
  if (shape.examples !== undefined) return shape.examples[0]
  if ('const' in shape) return shape.const
  const [alternative] = shape.oneOf ?? shape.anyOf ?? []
  if (alternative !== undefined) return find(alternative, schemas)
  if (shape.properties !== undefined) return objectOf(shape, schemas)
  if (shape.items !== undefined) return [exampleOf(shape.items, schemas)]
  const [type = 'object'] = [shape.type].flat()
  return shape.default ?? shape.enum?.[0] ?? BY_FORMAT.get(shape.format ?? '') ?? BY_TYPE.get(type)
}

function objectOf({ properties = {}, required = [] }: Shape, schemas: Schemas): object {
  const members = Object.entries(properties).map(([name, member]) => {
    const value = required.includes(name) ? exampleOf(member, schemas) : find(member, schemas)
    return [name, value] as const
  })
  return Object.fromEntries(members.filter(([, value]) => value !== undefined))
}

/** Returns the schema that a reference in the document points to. */
export function componentOf(reference: string, schemas: Schemas): JsonSchema {
  const schema = schemas[reference.replace('#/components/schemas/', '')]
  if (schema === undefined) throw new Error(`There is no schema ${reference}`)
  return schema
}
