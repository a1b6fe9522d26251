import { route, type Route } from '@signet/http'
import { publicApiDocument } from './api-document.js'
import { DOCS_CSP, docsPage } from './docs-page.js'

type Deps = {
  baseUrl: string
  /** The other routes of the public listener. */
  routes: readonly Route[]
}

const CACHE = { 'Cache-Control': 'public, max-age=300' }

/** `/openapi.json` and `/docs`, both made once from the table of the routes that are mounted. */
export function apiDocsRoutes({ baseUrl, routes }: Deps): Route[] {
  const own: Route[] = [
    route({
      method: 'get',
      path: '/openapi.json',
      docs: {
        tag: 'Documentation',
        operationId: 'getOpenApiDocument',
        summary: 'This API as an OpenAPI document',
        responses: { 200: { description: 'OpenAPI 3.1' } },
      },
      handle: () => ({ headers: { ...CACHE, 'Content-Type': 'application/json' }, body: document }),
    }),
    route({
      method: 'get',
      path: '/docs',
      docs: {
        tag: 'Documentation',
        operationId: 'getDocsPage',
        summary: 'This API as a page',
        responses: { 200: { description: 'HTML' } },
      },
      handle: () => ({
        headers: {
          ...CACHE,
          'Content-Type': 'text/html; charset=utf-8',
          'Content-Security-Policy': DOCS_CSP,
          'X-Content-Type-Options': 'nosniff',
          'X-Frame-Options': 'DENY',
          'Referrer-Policy': 'no-referrer',
        },
        body: page,
      }),
    }),
  ]
  const all = [...routes, ...own]
  const document = JSON.stringify({ ...publicApiDocument(all), servers: [{ url: baseUrl }] })
  const page = docsPage(all, baseUrl)
  return own
}
