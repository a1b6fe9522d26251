import type { Brand } from '@signet/brand'
import { route, type Route } from '@signet/http'
import { requireUniqueIds } from '@signet/http/open-api'
import { docsAnswer, SCRIPT_PATH, tryScript } from '@signet/pages/api-docs'
import { service } from '../version.js'
import { docs } from '../requests/docs.js'
import { apiDocument, documentedRoutes, pathParameters, securitySchemes, tags } from './api-document.js'
import { introduction } from './introduction.js'
import { schemas } from './schemas.js'

type Deps = { baseUrl: string; brand: Brand; icon: string | undefined }

/** `/openapi.json` and `/docs`. Both are built from the table of all other routes when someone first asks for them. */
export function apiDocsRoutes(routes: readonly Route[], { baseUrl, brand, icon }: Deps): Route[] {
  const own: Route[] = [
    route({
      method: 'get',
      path: '/openapi.json',
      docs: docs('getOpenApiDocument', 'This API as an OpenAPI document', {
        tag: 'Service',
        answer: { description: 'OpenAPI 3.1', schema: 'OpenApi' },
      }),
      handle: () => ({
        headers: { 'Cache-Control': 'public, max-age=300', 'Content-Type': 'application/json' },
        body: document(),
      }),
    }),
    route({
      method: 'get',
      path: '/docs',
      docs: docs('getDocsPage', 'This API as a page', {
        tag: 'Service',
        answer: { description: 'HTML', schema: 'Page', mediaType: 'text/html' },
      }),
      handle: () => page(),
    }),
    route({
      method: 'get',
      path: SCRIPT_PATH,
      docs: docs('getDocsScript', 'The script of the page', {
        tag: 'Service',
        answer: { description: 'JavaScript', schema: 'Page', mediaType: 'text/javascript' },
      }),
      handle: () => tryScript.answer,
    }),
  ]
  const all = [...routes, ...own]
  requireUniqueIds(documentedRoutes(all))
  let documentText: string | undefined
  const document = () => (documentText ??= JSON.stringify(apiDocument(all, baseUrl)))
  let pageAnswer: ReturnType<typeof docsAnswer> | undefined
  const page = () =>
    (pageAnswer ??= docsAnswer({
      title: service.description,
      brand,
      icon,
      baseUrl,
      introduction: introduction(baseUrl),
      routes: documentedRoutes(all),
      tags: Object.keys(tags),
      schemas,
      pathParameters,
      securitySchemes,
    }))
  return own
}
