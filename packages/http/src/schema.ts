import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { isDateTime } from './date-time.js'
import type { BodyProblem } from './error-renderer.js'

export type JsonSchema = Readonly<Record<string, unknown>>

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The formats that schemas of bodies may use, and their names in error messages. */
const FORMATS = {
  uuid: { check: UUID, name: 'a UUID such as 8e0f9b52-6c1d-4f3a-9b7e-2d5c4a1f0e63' },
  'date-time': { check: isDateTime, name: 'a date and time such as 2026-01-31T09:00:00Z' },
}

// `strict` reports typos in our own schemas at start, and formats that are not in the list above. Coercion is off: a wrong type is the
// caller's error.
const ajv = new Ajv({
  verbose: true,
  strict: true,
  allErrors: false,
  strictRequired: false,
  allowUnionTypes: true,
  formats: Object.fromEntries(Object.entries(FORMATS).map(([name, { check }]) => [name, check])),
})

const compiled = new Map<string, ValidateFunction>()

/** Compiles a validator that returns null for a valid value, and otherwise which member is wrong and why. */
export function compileSchema(schema: JsonSchema): (value: unknown) => BodyProblem | null {
  const validate = compileOnce(schema)
  return (value) => {
    if (validate(value)) return null
    const error = validate.errors?.[0]
    return error ? describe(error) : { kind: 'malformed', message: 'The body is not valid' }
  }
}

/**
 * Caches by content: schemas that depend on settings are created again for each app, and compiling them is the slowest part of its
 * start.
 */
function compileOnce(schema: JsonSchema): ValidateFunction {
  const text = JSON.stringify(schema)
  const known = compiled.get(text)
  if (known) return known
  const validate = ajv.compile(schema)
  compiled.set(text, validate)
  return validate
}

function describe(error: ErrorObject): BodyProblem {
  const missing = error.keyword === 'required' ? String(error.params['missingProperty']) : ''
  const field = memberName(missing === '' ? error.instancePath : `${error.instancePath}/${missing}`)
  const message =
    missing !== '' ? `${field} is required` : `${field === '' ? 'The body' : field} ${reasonOf(error)}`
  return { kind: 'schema', field, keyword: error.keyword, message }
}

/** The member's name in the usual notation: `summaries[0].label`. */
const memberName = (pointer: string): string =>
  pointer
    .replace(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.')
    .replace(/^\./, '')

/** Our own error text: the library's text is for programmers and may contain a regular expression. */
function reasonOf({ keyword, schema, parentSchema = {}, params }: ErrorObject): string {
  const { minimum, maximum, minLength = 0, maxLength, minItems = 0, maxItems } = parentSchema as Limits
  switch (keyword) {
    case 'type':
      return `must be ${[schema as string | string[]].flat().map(nameOfType).join(' or ')}`
    case 'enum':
      return `must be one of ${(schema as unknown[]).join(', ')}`
    case 'const':
      return `must be ${String(schema)}`
    case 'minimum':
    case 'maximum':
      return `must be ${between(minimum, maximum)}`
    case 'minLength':
    case 'maxLength':
      return maxLength === undefined
        ? `must have at least ${minLength} characters`
        : `must have ${minLength} to ${maxLength} characters`
    case 'minItems':
    case 'maxItems':
      return maxItems === undefined
        ? `must have at least ${minItems} entries`
        : `must have ${minItems} to ${maxItems} entries`
    case 'additionalProperties':
      return `has an unknown member: ${String(params['additionalProperty']).slice(0, 64)}`
    case 'uniqueItems':
      return 'must not contain duplicates'
    case 'format':
      return `must be ${FORMATS[schema as keyof typeof FORMATS].name}`
    default:
      return 'has the wrong format'
  }
}

type Limits = Partial<
  Record<'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'minItems' | 'maxItems', number>
>

const between = (minimum?: number, maximum?: number): string => {
  if (minimum === undefined) return `at most ${maximum}`
  return maximum === undefined ? `at least ${minimum}` : `between ${minimum} and ${maximum}`
}

const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    string: 'a string',
    number: 'a number',
    integer: 'a whole number',
    boolean: 'true or false',
    object: 'an object',
    array: 'a list',
  }),
)
const nameOfType = (type: string): string => TYPES.get(type) ?? type
