import type { JsonSchema } from '@signet/http'

type Components = Readonly<Record<string, JsonSchema>>

const PREFIX = '#/components/schemas/'

/**
 * Replaces references to components with the components themselves, because a tool's schema must be complete. Components do not refer
 * to themselves.
 */
export const inlined = (schema: JsonSchema, components: Components): JsonSchema =>
  resolve(schema, components) as JsonSchema

function resolve(value: unknown, components: Components): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown) => resolve(entry, components))
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = value as { $ref?: unknown }
  if (typeof $ref === 'string') return resolve(componentAt($ref, components), components)
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, resolve(entry, components)]))
}

function componentAt(reference: string, components: Components): JsonSchema {
  const component = reference.startsWith(PREFIX) ? components[reference.slice(PREFIX.length)] : undefined
  if (!component) throw new Error(`There is no component ${reference}`)
  return component
}
