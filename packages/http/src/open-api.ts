import { CONTENT_TYPE } from './body.js'
import { exampleOf } from './example.js'
import type { ParameterDoc, ResponseDoc, Route } from './route.js'
import type { JsonSchema } from './schema.js'

export { componentOf, exampleOf } from './example.js'

export type OpenApiOptions = {
  title: string
  version: string
  description: string
  /** Public URL of the deployment. */
  server: string
  routes: readonly Route[]
  /** What each tag is about, in the order of the document. */
  tags: Readonly<Record<string, string>>
  /** Path parameters by name. Those that are not listed are plain strings. */
  pathParameters?: Readonly<Record<string, Pick<ParameterDoc, 'schema' | 'description'>>>
  securitySchemes?: Readonly<Record<string, JsonSchema>>
  /** Shared schemas, referenced as `#/components/schemas/<name>`. */
  schemas?: Readonly<Record<string, JsonSchema>>
  /** Requests that this service makes to its users, by name. */
  webhooks?: Readonly<Record<string, JsonSchema>>
}

/** Applies to every route table that `mountRoutes` mounts. */
const METHODS =
  'Any other method on a known path returns 405 with `Allow`; where there is `GET`, `HEAD` returns the same without a body.'

/** Builds an OpenAPI 3.1 document from the route table that the server runs. Throws if two routes share an operationId. */
export function openApiDocument(options: OpenApiOptions): JsonSchema {
  requireUniqueIds(options.routes)
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of options.routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method]: operation(route, options) }
  }
  const { title, version, description, server, webhooks, schemas = {}, securitySchemes = {} } = options
  return {
    openapi: '3.1.0',
    info: {
      title,
      version,
      description: `${description} ${METHODS}`,
      contact: { name: 'Operator of this deployment', url: server },
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: server }],
    tags: tagsOf(options),
    paths,
    ...(webhooks ? { webhooks } : {}),
    components: { schemas, securitySchemes },
  }
}

/** Lets a service fail at start for this reason, without building the document. */
export function requireUniqueIds(routes: readonly Route[]): void {
  const seen = new Map<string, Route>()
  for (const route of routes) {
    const { operationId } = route.docs
    const other = seen.get(operationId)
    if (other)
      throw new Error(
        `Operation id ${operationId} of ${route.method} ${route.path} belongs to ${other.method} ${other.path} already`,
      )
    seen.set(operationId, route)
  }
}

/** Returns the tags in use. A tag without a description is a mistake that linters report. */
function tagsOf({ routes, tags }: OpenApiOptions): object[] {
  const used = new Set(routes.map(({ docs }) => docs.tag))
  return Object.entries(tags)
    .filter(([name]) => used.has(name))
    .map(([name, description]) => ({ name, description }))
}

function operation(route: Route, { pathParameters = {}, schemas = {} }: OpenApiOptions) {
  const { docs, path, body } = route
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    ...(pathParameters[name] ?? { schema: { type: 'string' } }),
  }))
  return {
    operationId: docs.operationId,
    summary: docs.summary,
    description: docs.description ?? `${docs.summary}.`,
    tags: [docs.tag],
    security: (docs.security ?? []).map((scheme) => ({ [scheme]: [] })),
    parameters: [...inPath, ...(docs.parameters ?? [])],
    ...(body
      ? {
          requestBody: {
            required: body.optional !== true,
            content: contentOf(CONTENT_TYPE[body.as], bodySchemaOf(route) ?? {}, docs.bodyExample, schemas),
          },
        }
      : {}),
    responses: Object.fromEntries(
      Object.entries(docs.responses).map(([status, response]) => [status, responseOf(response, schemas)]),
    ),
  }
}

/** The schema that documents the body of a route, or undefined if it has none. */
export const bodySchemaOf = ({ docs, body }: Route): JsonSchema | undefined => docs.body ?? body?.schema

function responseOf(
  {
    description,
    schema,
    mediaType = CONTENT_TYPE.json,
    example,
    headers,
    links,
    orPage = false,
  }: ResponseDoc,
  schemas: Readonly<Record<string, JsonSchema>>,
) {
  return {
    description,
    ...(headers ? { headers } : {}),
    ...(links ? { links: linksOf(links) } : {}),
    ...(schema
      ? {
          content: {
            ...contentOf(mediaType, schema, example, schemas),
            ...(orPage ? { 'text/html': { schema: { type: 'string' } } } : {}),
          },
        }
      : {}),
  }
}

const linksOf = (links: NonNullable<ResponseDoc['links']>) =>
  Object.fromEntries(
    Object.entries(links).map(([operationId, members]) => [
      operationId,
      {
        operationId,
        parameters: Object.fromEntries(
          Object.entries(members).map(([parameter, member]) => [parameter, `$response.body#/${member}`]),
        ),
      },
    ]),
  )

/** Only JSON gets an example: the schema of NDJSON describes one line, and pages have no schema. */
function contentOf(
  mediaType: string,
  schema: JsonSchema,
  example: unknown,
  schemas: Readonly<Record<string, JsonSchema>>,
) {
  const hasExample = mediaType === CONTENT_TYPE.json || mediaType === CONTENT_TYPE.form
  return {
    [mediaType]: { schema, ...(hasExample ? { example: example ?? exampleOf(schema, schemas) } : {}) },
  }
}
