import type { ErrorRenderer } from '@signet/http'
import type { Request } from 'express'
import { CONFIRM_PATH } from '../providers/link-confirmation.js'

/** Paths that people open by a link, a provider redirect or the address bar, with their methods. */
const OPENED_BY_PEOPLE: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ['/verify', ['GET']],
  ['/authorize', ['GET']],
  ['/callback', ['GET', 'POST']],
]

/** Renders errors of the API as pages on paths that people open in a browser. */
export const withPages = (api: ErrorRenderer, pages: ErrorRenderer): ErrorRenderer => ({
  ...api,
  render: (error, req) => (isOpenedByPerson(req) ? pages : api).render(error, req),
})

function isOpenedByPerson(req: Request): boolean {
  const path = req.path.replace(/\/+$/, '')
  if (path === CONFIRM_PATH) return true
  return (
    OPENED_BY_PEOPLE.some(([known, methods]) => path === known && methods.includes(req.method)) &&
    req.accepts(['json', 'html']) === 'html'
  )
}
