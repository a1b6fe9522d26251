import type { ErrorRenderer } from '@signet/http'
import { prefersHtml } from '@signet/http/browsers'
import type { Request } from 'express'
import { CONFIRM_PATH } from '../providers/link-confirmation.js'

/** Renders errors of the API as pages for people with a browser. Programs ask for JSON, or for any type. */
export const withPages = (api: ErrorRenderer, pages: ErrorRenderer): ErrorRenderer => ({
  ...api,
  render: (error, req) => (isOpenedByPerson(req) ? pages : api).render(error, req),
})

/** Who gets a route's errors as pages. Some providers post their response. */
export function errorPagesOf(method: string, path: string): 'everyone' | 'browsers' | 'nobody' {
  if (path === CONFIRM_PATH) return 'everyone'
  return method === 'GET' || (method === 'POST' && path === '/callback') ? 'browsers' : 'nobody'
}

function isOpenedByPerson(req: Request): boolean {
  const { method, path } = req
  // Express also takes paths with one slash at the end.
  const readers = errorPagesOf(method, path.endsWith('/') ? path.slice(0, -1) : path)
  return readers === 'everyone' || (readers === 'browsers' && prefersHtml(req))
}
