import { contextOf } from '@signet/http'
import type { RequestHandler } from 'express'

/** Adds the page a request came from to its log line (docs/specification.md#logs), without the query, which may carry codes. */
export const logReferer: RequestHandler = (req, res, next) => {
  const referer = req.get('referer')
  if (referer !== undefined) contextOf(res).fields['referer'] = referer.split(/[?#]/, 1)[0]
  next()
}
