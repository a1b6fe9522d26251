import type { ErrorRenderer } from '@signet/http'
import type { Request } from 'express'
import { CONFIRM_PATH } from '../providers/link-confirmation.js'

/** Renders errors of the API as pages for people with a browser; programs ask for JSON, or for anything. */
export const withPages = (api: ErrorRenderer, pages: ErrorRenderer): ErrorRenderer => ({
  ...api,
  render: (error, req) => (isOpenedByPerson(req) ? pages : api).render(error, req),
})

function isOpenedByPerson(req: Request): boolean {
  const path = req.path.replace(/\/+$/, '')
  if (path === CONFIRM_PATH) return true
  // Some providers post their answer.
  const isNavigation = req.method === 'GET' || (req.method === 'POST' && path === '/callback')
  return isNavigation && prefersHtml(req)
}

export const prefersHtml = (req: Request): boolean => req.accepts(['json', 'html']) === 'html'
