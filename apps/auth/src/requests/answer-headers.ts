import type { RequestHandler } from 'express'

/**
 * Headers of every answer unless its route overrides them. Nearly all answers contain personal data, and a list of the ones with tokens
 * would miss the next new route. The few answers that may be cached say so themselves.
 */
export const answerHeaders: RequestHandler = (_req, res, next) => {
  res.setHeader('Cache-Control', 'no-store')
  res.setHeader('X-Content-Type-Options', 'nosniff')
  next()
}
