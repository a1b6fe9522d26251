import { route, type Route, type RouteDocs } from '@signet/http'
import { authorizationServerDocument, optionalMetadata, protectedResourceDocument } from './documents.js'

type Deps = { baseUrl: string; introspection: boolean; serviceDocumentation: string | undefined }
/** Well-known documents by the path suffix that follows `/.well-known/`. */
type Documents = Readonly<Record<string, Entry>>
type Entry = {
  operationId: string
  summary: string
  document: object
  /** Members that only some deployments have, each with a value. */
  optional?: object
}

const HEADERS = { 'Cache-Control': 'public, max-age=300' }

/** The documents at `{base_url}/.well-known/…`, relative to the base path. */
export const discoveryRoutes = (deps: Deps): Route[] => routesFor(documents(deps))

/**
 * If the base URL has a path, also the path-inserted forms of RFC 8414 section 3.1 and RFC 9728 section 3.1, relative to the origin,
 * with the same bytes.
 */
export function insertedDiscoveryRoutes(deps: Deps): Route[] {
  const basePath = new URL(deps.baseUrl).pathname.replace(/\/$/, '')
  if (basePath === '') return []
  return routesFor(
    Object.fromEntries(
      Object.entries(documents(deps)).map(([suffix, entry]) => [
        suffix.replace(/^([^/]+)/, (name) => `${name}${basePath}`),
        entry,
      ]),
    ),
  )
}

const typeOf = (value: unknown) =>
  Array.isArray(value) ? { type: 'array', items: { type: 'string' } } : { type: typeof value }

/** A service answers the same document to everyone, so the document is its own example. */
const documented = ({ document, optional = {} }: Entry): RouteDocs['responses'] => ({
  200: {
    description: 'The document',
    schema: {
      type: 'object',
      additionalProperties: true,
      required: Object.keys(document).filter((name) => !Object.hasOwn(optional, name)),
      properties: Object.fromEntries(
        Object.entries({ ...document, ...optional }).map(([name, value]) => [name, typeOf(value)]),
      ),
    },
    example: document,
  },
})

const documents = (deps: Deps): Documents => ({
  'oauth-authorization-server': {
    operationId: 'getAuthorizationServerMetadata',
    summary: 'Authorization server metadata (RFC 8414)',
    document: authorizationServerDocument(deps),
    optional: optionalMetadata(deps.baseUrl),
  },
  'oauth-protected-resource': {
    operationId: 'getProtectedResourceMetadata',
    summary: 'Protected resource metadata of the service (RFC 9728)',
    document: protectedResourceDocument(deps.baseUrl, deps.baseUrl),
  },
  'oauth-protected-resource/v1': {
    operationId: 'getV1ProtectedResourceMetadata',
    summary: 'Protected resource metadata of /v1 (RFC 9728)',
    document: protectedResourceDocument(deps.baseUrl, `${deps.baseUrl}/v1`),
  },
  'oauth-protected-resource/mcp': {
    operationId: 'getMcpProtectedResourceMetadata',
    summary: 'Protected resource metadata of /mcp (RFC 9728)',
    document: protectedResourceDocument(deps.baseUrl, `${deps.baseUrl}/mcp`),
  },
})

const routesFor = (table: Documents): Route[] =>
  Object.entries(table).map(([suffix, entry]) => {
    const { operationId, summary, document } = entry
    return route({
      method: 'get',
      path: `/.well-known/${suffix}`,
      docs: { operationId, summary, tag: 'Discovery', responses: documented(entry) },
      handle: () => ({ status: 200, headers: HEADERS, body: document }),
    })
  })
