import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

/** Returns validators for the schemas in an OpenAPI 3.1 document, by their place in it. */
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
 * Forbids members that are not documented. The document itself allows them, because responses may gain members later and
 * clients must accept them, but tests must notice them.
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
