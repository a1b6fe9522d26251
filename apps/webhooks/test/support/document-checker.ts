import { Ajv, type ValidateFunction } from 'ajv'

type Operation = { responses: Record<string, { content?: Record<string, unknown> }> }
type Document = { paths: Record<string, Record<string, Operation>> }

/** Answers that no route documents, because they are the same everywhere. */
const EVERYWHERE = [404, 405]

/**
 * Compares answers with an OpenAPI document: the status must be a documented one of the operation and the body must
 * fit its schema. Paths and methods that the document does not know must be refused.
 */
export function documentChecker(document: object) {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema(document, 'api')
  const { paths } = document as Document
  const templates = Object.keys(paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }))

  return (method: string, url: string, status: number, body: unknown): void => {
    const name = `${method} ${url} → ${status}`
    const { pathname } = new URL(url, 'http://localhost')
    const exact = templates.find(({ path }) => path === pathname)
    const { path } = exact ?? templates.find(({ pattern }) => pattern.test(pathname)) ?? {}
    const operation = path === undefined ? undefined : paths[path]?.[method.toLowerCase()]
    if (!operation) {
      if (status < 400) throw new Error(`${name}: answered, and in no document`)
      return
    }
    const response = operation.responses[String(status)]
    if (!response) {
      if (EVERYWHERE.includes(status)) return
      throw new Error(`${name}: this status is not documented`)
    }
    if (!response.content) return
    // Of NDJSON, the schema is that of a line.
    const isLines = response.content['application/x-ndjson'] !== undefined
    const type = isLines ? 'application/x-ndjson' : 'application/json'
    const pointer = ['paths', path, method.toLowerCase(), 'responses', status, 'content', type]
    const validate = validatorAt(ajv, [...pointer, 'schema'])
    for (const value of isLines ? (body as unknown[]) : [body])
      if (!validate(value)) throw new Error(`${name}: ${ajv.errorsText(validate.errors)}`)
  }
}

function validatorAt(ajv: Ajv, pointer: readonly unknown[]): ValidateFunction {
  const path = pointer.map((part) =>
    encodeURIComponent(String(part).replaceAll('~', '~0').replaceAll('/', '~1')),
  )
  const validate = ajv.getSchema(`api#/${path.join('/')}`)
  if (!validate) throw new Error(`no schema at ${pointer.join(' ')}`)
  return validate
}
