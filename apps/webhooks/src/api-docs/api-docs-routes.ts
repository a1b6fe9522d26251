import type { Brand } from '@signet/brand'
import { route, type Route } from '@signet/http'
import { requireUniqueIds } from '@signet/http/open-api'
import { docsAnswer, SCRIPT_PATH, tryScript } from '@signet/pages/api-docs'
import { pathParameters } from '../api/v1-docs.js'
import {
  PAGES_TAG,
  publicApiDocument,
  publicComponents,
  publicSecuritySchemes,
  publicTags,
} from './api-document.js'
import { introduction } from './introduction.js'

type Deps = {
  baseUrl: string
  brand: Brand
  /** The other routes of the public listener. */
  routes: readonly Route[]
}

const ANY_OBJECT = { type: 'object', additionalProperties: true }
const CACHE = { 'Cache-Control': 'public, max-age=300' }

/** `/openapi.json` and `/docs`, both built once, for the first reader, from the table of the mounted routes. */
export function apiDocsRoutes({ baseUrl, brand, routes }: Deps): Route[] {
  const own: Route[] = [
    route({
      method: 'get',
      path: '/openapi.json',
      docs: {
        tag: 'Documentation',
        operationId: 'getOpenApiDocument',
        summary: 'This API as an OpenAPI document',
        responses: { 200: { description: 'OpenAPI 3.1', schema: ANY_OBJECT } },
      },
      handle: () => ({ headers: { ...CACHE, 'Content-Type': 'application/json' }, body: document() }),
    }),
    route({
      method: 'get',
      path: '/docs',
      docs: {
        tag: 'Documentation',
        operationId: 'getDocsPage',
        summary: 'This API as a page',
        responses: { 200: { description: 'HTML', schema: { type: 'string' }, mediaType: 'text/html' } },
      },
      handle: () => page(),
    }),
    route({
      method: 'get',
      path: SCRIPT_PATH,
      docs: {
        tag: 'Documentation',
        operationId: 'getDocsScript',
        summary: 'The script of the page',
        responses: {
          200: { description: 'JavaScript', schema: { type: 'string' }, mediaType: 'text/javascript' },
        },
      },
      handle: () => tryScript.answer,
    }),
  ]
  const all = [...routes, ...own]
  requireUniqueIds(all)
  let documentText: string | undefined
  const document = () => (documentText ??= JSON.stringify(publicApiDocument(all, baseUrl)))
  let pageAnswer: ReturnType<typeof docsAnswer> | undefined
  const page = () =>
    (pageAnswer ??= docsAnswer({
      title: 'Recording events API',
      brand,
      icon: '/favicon.svg',
      baseUrl,
      introduction: introduction(baseUrl),
      routes: all,
      tags: Object.keys(publicTags).filter((tag) => tag !== PAGES_TAG),
      schemas: publicComponents,
      pathParameters,
      securitySchemes: publicSecuritySchemes,
    }))
  return own
}
