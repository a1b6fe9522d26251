import type { Request } from 'express'

/** Whether a page of this server submitted the form, as far as the browser says. Old browsers do not say. */
export function isSameOrigin(req: Request, own: string): boolean {
  const origin = req.get('origin')
  const site = req.get('sec-fetch-site')
  return (origin === undefined || origin === own) && (site === undefined || site === 'same-origin')
}
