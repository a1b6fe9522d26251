import type { ErrorRenderer } from '@signet/http'
import type { Request } from 'express'

/** Browsers ask for HTML by name; programs that take anything get JSON. */
export const prefersHtml = (req: Request): boolean => req.accepts(['json', 'html']) === 'html'

/** Errors of an API as pages for a person who meets them in a browser. */
export const withPages = (api: ErrorRenderer, pages: ErrorRenderer): ErrorRenderer => ({
  ...api,
  render: (error, req) => (prefersHtml(req) ? pages : api).render(error, req),
})
