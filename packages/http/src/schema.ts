import { Ajv, type ErrorObject } from 'ajv'
import type { BodyProblem } from './error-renderer.js'

export type JsonSchema = Readonly<Record<string, unknown>>

// `strict` catches typos in our own schemas at start. Coercion is off: a wrong type is the caller's error.
const ajv = new Ajv({ strict: true, allErrors: false, strictRequired: false, allowUnionTypes: true })

/** Compiles a validator that returns null for a valid value, and otherwise which member is wrong and why. */
export function compileSchema(schema: JsonSchema): (value: unknown) => BodyProblem | null {
  const validate = ajv.compile(schema)
  return (value) => {
    if (validate(value)) return null
    const error = validate.errors?.[0]
    return error ? describe(error) : { kind: 'malformed', message: 'The body is not valid' }
  }
}

function describe(error: ErrorObject): BodyProblem {
  const path = error.instancePath.slice(1).replaceAll('/', '.')
  const missing = error.keyword === 'required' ? String(error.params['missingProperty']) : ''
  const field = [path, missing].filter((part) => part !== '').join('.')
  const message =
    missing !== '' ? `${field} is required` : `${field === '' ? 'The body' : field} ${reasonOf(error)}`
  return { kind: 'schema', field, keyword: error.keyword, message }
}

/** The library lists several allowed types with bare commas. */
const reasonOf = ({ keyword, message = 'is not valid' }: ErrorObject): string =>
  keyword === 'type' ? message.replaceAll(',', ' or ') : message
