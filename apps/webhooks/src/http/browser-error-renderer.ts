import type { ErrorRenderer } from '@signet/http'
import { prefersHtml } from '@signet/http/browsers'

/** Renders errors of an API as pages for people who get them in a browser. */
export const withPages = (api: ErrorRenderer, pages: ErrorRenderer): ErrorRenderer => ({
  ...api,
  render: (error, req) => (prefersHtml(req) ? pages : api).render(error, req),
})
