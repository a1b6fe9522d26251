import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/** Validators of the schemas inside an OpenAPI 3.1 document, by where they stand. */
export function schemasOf(document: object): (...pointer: readonly unknown[]) => ValidateFunction {
  // OpenAPI has members that JSON Schema lacks, such as `example`. The documents themselves are checked elsewhere.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  formats.default(ajv)
  ajv.addSchema(closed(document) as object, 'api')
  return (...pointer) => {
    const path = pointer.map((part) =>
      encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1')),
    )
    const validate = ajv.getSchema(`api#/${path.join('/')}`)
    if (!validate) throw new Error(`no schema at ${pointer.join(' ')}`)
    return validate
  }
}

/**
 * Members may be added to responses later, so the document allows them and clients must. A test wants to see each of them
 * documented.
 */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, closed(member)]))
  const isOpen = 'properties' in value && !('additionalProperties' in value)
  return isOpen ? { ...copy, additionalProperties: false } : copy
}

export const problemsOf = ({ errors }: ValidateFunction): string =>
  (errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`).join(', ')
