import type { ErrorRenderer } from '@signet/http'
import type { Request } from 'express'

/** Whether a request prefers HTML. Browsers name HTML explicitly; programs that accept anything get JSON. */
export const prefersHtml = (req: Request): boolean => req.accepts(['json', 'html']) === 'html'

/** Renders errors of an API as pages for people who get them in a browser. */
export const withPages = (api: ErrorRenderer, pages: ErrorRenderer): ErrorRenderer => ({
  ...api,
  render: (error, req) => (prefersHtml(req) ? pages : api).render(error, req),
})
