import { AppError } from '@signet/errors'
import type { RequestHandler } from 'express'

/**
 * Refuses requests from browser pages of other origins, because DNS rebinding lets a foreign page reach a server in the browser's own
 * network (docs/specification.md#mcp-transport). Clients other than browsers send no `Origin`.
 */
export const originCheck =
  (allowed: readonly string[]): RequestHandler =>
  (req, _res, next) => {
    const origin = req.get('origin')
    if (origin !== undefined && !allowed.includes(origin))
      throw new AppError('forbidden', 'forbidden', 'This origin may not call this service')
    next()
  }
