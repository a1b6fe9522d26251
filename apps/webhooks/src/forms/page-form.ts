import type { BodySpec, ResponseDoc, RouteDocs } from '@signet/http'
import { ref } from '../schemas/schema-parts.js'

/** The fields of a page's form. Repeated fields are arrays. */
export type PageForm = Readonly<Record<string, unknown>>

export const pageForm: BodySpec = { as: 'form', maxBytes: 16 * 1024 }

const htmlPage = (description: string): ResponseDoc => ({
  description,
  schema: { type: 'string' },
  mediaType: 'text/html',
})

/** Requests that do not accept HTML get the OAuth error. */
const errorPage = (description: string): ResponseDoc => ({
  description,
  schema: ref('OAuthError'),
  orPage: true,
})

const ERROR_PAGES = {
  400: 'The request is invalid or no longer open',
  403: 'The form was not sent by a page of this service',
  408: 'The form did not arrive in time',
  413: 'The form is too large',
  429: 'Too many attempts',
  500: 'Something went wrong',
  503: 'Unavailable for a moment',
  504: 'It took too long',
}

export const pageDocs = (operationId: string, summary: string): RouteDocs => ({
  operationId,
  summary,
  tag: 'Sign-in pages',
  body: { type: 'object', description: 'The fields of the form', additionalProperties: { type: 'string' } },
  responses: {
    200: htmlPage('A page'),
    302: { description: 'On to another page, or back to the application' },
    303: { description: 'The same, after a form' },
    ...Object.fromEntries(Object.entries(ERROR_PAGES).map(([status, text]) => [status, errorPage(text)])),
  },
})
