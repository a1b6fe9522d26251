import { contextOf } from '@signet/http'
import type { RequestHandler } from 'express'

/** Adds the page that a request came from to its log line (docs/specification.md#logs). Leaves out the query, which may contain codes. */
export const logReferer: RequestHandler = (req, res, next) => {
  const referer = req.get('referer')
  if (referer !== undefined) contextOf(res).fields['referer'] = referer.split(/[?#]/, 1)[0]
  next()
}
