import { parseUrl } from '@signet/address-guard/parse-url'
import type { Request } from 'express'

/** The page of ours that a request came from, as a path with its query. */
export function refererPage(req: Request, externalUrl: string): string | null {
  const from = parseUrl(req.get('referer') ?? '')
  const { origin, pathname } = new URL(externalUrl)
  const pages = `${pathname.replace(/\/+$/, '')}/ui`
  const isOurs = from?.origin === origin && (from.pathname === pages || from.pathname.startsWith(`${pages}/`))
  return from !== null && isOurs ? `${from.pathname}${from.search}` : null
}
