import { CONTENT_TYPE } from './body.js'
import type { Route } from './route.js'
import type { JsonSchema } from './schema.js'

export type OpenApiOptions = {
  title: string
  version: string
  description: string
  routes: readonly Route[]
  securitySchemes?: Readonly<Record<string, JsonSchema>>
  /** Shared schemas, referenced as `#/components/schemas/<name>`. */
  schemas?: Readonly<Record<string, JsonSchema>>
}

/** Builds an OpenAPI 3.1 document from the route table that the server runs. Throws if two routes share an operationId. */
export function openApiDocument(options: OpenApiOptions): JsonSchema {
  requireUniqueIds(options.routes)
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of options.routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: options.title, version: options.version, description: options.description },
    paths,
    components: { schemas: options.schemas ?? {}, securitySchemes: options.securitySchemes ?? {} },
  }
}

function requireUniqueIds(routes: readonly Route[]): void {
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

function operation({ docs, path, body }: Route) {
  const pathParameters = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  return {
    operationId: docs.operationId,
    summary: docs.summary,
    ...(docs.description === undefined ? {} : { description: docs.description }),
    tags: [docs.tag],
    ...(docs.security ? { security: docs.security.map((scheme) => ({ [scheme]: [] })) } : {}),
    parameters: [...pathParameters, ...(docs.parameters ?? [])],
    ...(body
      ? {
          requestBody: {
            required: body.optional !== true,
            content: { [CONTENT_TYPE[body.as]]: { schema: body.schema ?? docs.body ?? {} } },
          },
        }
      : {}),
    responses: Object.fromEntries(
      Object.entries(docs.responses).map(
        ([status, { description, schema, mediaType = CONTENT_TYPE.json }]) => [
          status,
          { description, ...(schema ? { content: { [mediaType]: { schema } } } : {}) },
        ],
      ),
    ),
  }
}
