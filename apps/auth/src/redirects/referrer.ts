import { type Request } from 'express'
import { isAllowedRedirect, type RedirectConfig } from './redirects.js'

/**
 * Where a request wants its user to end up: the first allowed one of the header `redirect_to`, the parameter of that
 * name in query or form, and `Referer`; else the site (contract 0.6). What is refused is passed over in silence.
 */
export function referrerOf(req: Request, config: RedirectConfig): string {
  const candidates = [req.get('redirect_to'), parameter(req.query), formParameter(req), req.get('referer')]
  return (
    candidates.find((candidate) => candidate !== undefined && isAllowedRedirect(config, candidate)) ??
    config.siteUrl
  )
}

/** A form only: `redirect_to` in a JSON body means nothing (contract 1.8). */
const formParameter = (req: Request) =>
  req.is('application/x-www-form-urlencoded') === false ? undefined : parameter(req.body)

function parameter(values: unknown): string | undefined {
  if (typeof values !== 'object' || values === null) return undefined
  const value: unknown = (values as Record<string, unknown>)['redirect_to']
  const first: unknown = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' && first !== '' ? first : undefined
}
