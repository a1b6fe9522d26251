import { route, type Route } from '@signet/http'
import { docs } from '../requests/docs.js'
import { apiDocument } from './api-document.js'

/** `GET /openapi.json`, made once from the table of all other routes. */
export function apiDocsRoutes(routes: readonly Route[]): Route[] {
  const own: Route[] = [
    route({
      method: 'get',
      path: '/openapi.json',
      docs: docs('getOpenApiDocument', 'This API as an OpenAPI document', {
        tag: 'Service',
        answer: { description: 'OpenAPI 3.1' },
      }),
      handle: () => ({
        headers: { 'Cache-Control': 'public, max-age=300', 'Content-Type': 'application/json' },
        body: document,
      }),
    }),
  ]
  const document: string = JSON.stringify(apiDocument([...routes, ...own]))
  return own
}
