import { type Request } from 'express'

/** Whether a form was sent by a page of this server, as far as the browser says; old ones say nothing. */
export function isSameOrigin(req: Request, own: string): boolean {
  const origin = req.get('origin')
  const site = req.get('sec-fetch-site')
  return (origin === undefined || origin === own) && (site === undefined || site === 'same-origin')
}
