import { type RequestHandler } from 'express'

/**
 * What every answer has unless its route says otherwise. Nearly all of them hold something about a person, and a list of
 * those that hold tokens would be wrong with the next route; the few that may be kept say so themselves.
 */
export const answerHeaders: RequestHandler = (_req, res, next) => {
  res.setHeader('Cache-Control', 'no-store')
  res.setHeader('X-Content-Type-Options', 'nosniff')
  next()
}
