import type { BodySpec, RouteDocs } from '@signet/http'

/** The fields of a page's form; repeated ones are lists. */
export type PageForm = Readonly<Record<string, unknown>>

export const pageForm: BodySpec = { as: 'form', maxBytes: 16 * 1024 }

export const pageDocs = (operationId: string, summary: string): RouteDocs => ({
  operationId,
  summary,
  tag: 'Sign-in pages',
  responses: {
    200: { description: 'An HTML page' },
    303: { description: 'A redirect' },
    400: { description: 'An error page' },
  },
})
