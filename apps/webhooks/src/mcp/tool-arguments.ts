import type { JsonSchema, Route, RouteCall } from '@signet/http'
import { bodySchemaOf } from '@signet/http/open-api'
import { badRequest } from '../errors/api-errors.js'

/** The place from which the route reads an argument. */
type Source = 'params' | 'query' | 'body'
type Argument = { source: Source; schema: JsonSchema; required: boolean }
type Arguments = Readonly<Record<string, unknown>>

/**
 * The arguments of a route as one object: path, query and body together. The route checks the values itself, with the messages and in
 * the order of /v1. This checks only what a URL could not express, and names, because the route would ignore a misspelled one.
 */
export function toolArguments(route: Route): {
  inputSchema: JsonSchema
  callOf: (given: Arguments) => RouteCall
} {
  const known = argumentsOf(route)
  return { inputSchema: schemaOf(known), callOf: (given) => callOf(route, known, given) }
}

function argumentsOf(route: Route): ReadonlyMap<string, Argument> {
  const { path, docs } = route
  const known = new Map<string, Argument>()
  const add = (name: string, argument: Argument) => {
    if (known.has(name)) throw new Error(`${path} has two parameters named ${name}`)
    known.set(name, argument)
  }
  for (const [, name = ''] of path.matchAll(/:(\w+)/g))
    add(name, { source: 'params', schema: ID, required: true })
  for (const { name, in: place, schema, description, required = false } of docs.parameters ?? [])
    if (place === 'query') add(name, { source: 'query', schema: described(schema, description), required })
  const { properties = {}, required = [] } = (bodySchemaOf(route) ?? {}) as ObjectSchema
  for (const [name, schema] of Object.entries(properties))
    add(name, { source: 'body', schema, required: required.includes(name) })
  return known
}

type ObjectSchema = { properties?: Record<string, JsonSchema>; required?: string[] }

const ID: JsonSchema = { type: 'string', description: 'Decimal digits' }

const described = (schema: JsonSchema, description: string | undefined): JsonSchema =>
  description === undefined ? schema : { ...schema, description }

const schemaOf = (known: ReadonlyMap<string, Argument>): JsonSchema => ({
  type: 'object',
  properties: Object.fromEntries([...known].map(([name, { schema }]) => [name, schema])),
  required: [...known].filter(([, { required }]) => required).map(([name]) => name),
  additionalProperties: false,
})

function callOf(route: Route, known: ReadonlyMap<string, Argument>, given: Arguments): RouteCall {
  // These objects have no prototypes, so that no name has a special meaning.
  const call = { params: empty<string>(), query: empty<string>(), body: empty<unknown>() }
  for (const [name, value] of Object.entries(given)) {
    const argument = known.get(name)
    if (!argument) throw badRequest(unknownArgument(name, known))
    if (argument.source === 'body') call.body[name] = value
    else if (value !== null) call[argument.source][name] = text(name, value)
  }
  for (const name of known.keys())
    if (known.get(name)?.source === 'params' && call.params[name] === undefined)
      throw badRequest(`${name} is required`)
  return { ...call, body: bodyOf(route, known, call.body) }
}

const empty = <T>() => Object.create(null) as Record<string, T>

function unknownArgument(name: string, known: ReadonlyMap<string, Argument>): string {
  const names =
    known.size === 0 ? 'this tool takes none' : `the arguments are ${[...known.keys()].join(', ')}`
  return `There is no argument ${name.slice(0, 64)}: ${names}`
}

/** Returns a value as it would appear in the URL. */
function text(name: string, value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw badRequest(`${name} must be a string or a number`)
}

function bodyOf(
  { body }: Route,
  known: ReadonlyMap<string, Argument>,
  given: Record<string, unknown>,
): RouteCall['body'] {
  const names = [...known].filter(([, { source }]) => source === 'body')
  if (body === undefined || Object.keys(given).length > 0 || names.some(([, { required }]) => required))
    return given
  // Rejected just as /v1 rejects a request without a body, so that a lost body changes nothing
  // (docs/specification.md#updating-a-webhook).
  if (!body.optional) throw badRequest(`Give at least one of ${names.map(([name]) => name).join(', ')}`)
  return undefined
}
