import { problemsOf, schemasOf } from './schemas.js'

type Content = Record<string, { schema?: object; example?: unknown }>
type Response = { content?: Content; headers?: Record<string, { required?: boolean }> }
type Operation = { requestBody?: { content: Content }; responses: Record<string, Response> }
type Document = { paths: Record<string, Record<string, Operation>> }

/** An answer that a test got; an NDJSON body is a list. */
type CheckedAnswer = { status: number; body?: unknown; headers?: Headers }

const JSON_TYPE = 'application/json'
const LINES_TYPE = 'application/x-ndjson'

/**
 * Compares answers with an OpenAPI document: the operation must document the status, the body must fit its schema, formats
 * included, and the required headers must be present. Paths and methods that are not in the document must be refused.
 */
export function documentChecker(
  document: object,
): (method: string, url: string, answer: CheckedAnswer) => void {
  const schemaAt = schemasOf(document)
  const { paths } = document as Document
  const templates = Object.keys(paths).map((path) => ({
    path,
    pattern: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`),
  }))

  return (method, url, { status, body, headers }) => {
    const name = `${method} ${url} → ${status}`
    // Express treats a path the same with and without a trailing slash.
    const pathname = url.replace(/\?[^]*$/, '').replace(/(?<=.)\/$/, '')
    const path = paths[pathname] ? pathname : templates.find(({ pattern }) => pattern.test(pathname))?.path
    const operation = path === undefined ? undefined : paths[path]?.[method.toLowerCase()]
    if (!operation) {
      if (status < 400) throw new Error(`${name}: answered, and in no document`)
      return
    }
    const response = operation.responses[String(status)]
    if (!response) throw new Error(`${name}: this status is not documented`)
    for (const [header, { required = false }] of Object.entries(response.headers ?? {}))
      if (required && headers?.has(header) === false) throw new Error(`${name}: no header ${header}`)
    const [type = ''] = ((headers ? headers.get('content-type') : JSON_TYPE) ?? '').split(';')
    if (type === '' && response.content === undefined) return
    if (response.content?.[type] === undefined) throw new Error(`${name}: no content of type ${type}`)
    if (type !== JSON_TYPE && type !== LINES_TYPE) return
    const at = ['paths', path, method.toLowerCase(), 'responses', status, 'content', type, 'schema']
    const validate = schemaAt(...at)
    // For NDJSON, the schema describes one line.
    for (const value of type === JSON_TYPE ? [body] : (body as unknown[]))
      if (!validate(value)) throw new Error(`${name}: ${problemsOf(validate)}`)
  }
}

type Delivered = { webhooks: Record<string, { post: { parameters: { name: string }[] } }> }

/** Checks that the headers and bodies of deliveries fit the `webhooks` of an OpenAPI document. */
export function deliveryChecker(
  document: object,
): (type: string, headers: Readonly<Record<string, unknown>>, body: unknown) => void {
  const schemaAt = schemasOf(document)
  const { webhooks } = document as Delivered
  return (type, headers, body) => {
    const fits = (what: string, value: unknown, ...at: unknown[]) => {
      const validate = schemaAt('webhooks', type, 'post', ...at, 'schema')
      if (!validate(value)) throw new Error(`${type}, ${what}: ${problemsOf(validate)}`)
    }
    const { parameters = [] } = webhooks[type]?.post ?? {}
    for (const [index, { name }] of parameters.entries())
      fits(name, headers[name.toLowerCase()], 'parameters', index)
    fits('body', body, 'requestBody', 'content', 'application/json')
  }
}

/** Every example of a document that does not fit its schema. */
export function wrongExamples(document: object): string[] {
  const schemaAt = schemasOf(document)
  const { paths } = document as Document
  const problems = (content: Content = {}, at: readonly string[]) =>
    Object.entries(content).flatMap(([type, { example }]) => {
      const validate = schemaAt(...at, 'content', type, 'schema')
      return example === undefined || validate(example) ? [] : [`${at.join(' ')}: ${problemsOf(validate)}`]
    })
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { requestBody, responses }]) => [
      ...problems(requestBody?.content, ['paths', path, method, 'requestBody']),
      ...Object.entries(responses).flatMap(([status, { content }]) =>
        problems(content, ['paths', path, method, 'responses', status]),
      ),
    ]),
  )
}
