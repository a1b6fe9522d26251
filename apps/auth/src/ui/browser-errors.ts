import { type ErrorRenderer } from '@signet/http'
import { type Request } from 'express'
import { CONFIRM_PATH } from '../providers/link-confirmation.js'

/** Addresses that people come to by a link, a provider or an address bar, with what they are opened with. */
const OPENED_BY_PEOPLE: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ['/verify', ['GET']],
  ['/authorize', ['GET']],
  ['/callback', ['GET', 'POST']],
]

/** Errors of the API, as pages where a browser stands: nobody but a program reads JSON. */
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
