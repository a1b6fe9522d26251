import type { NextFunction, Request, RequestHandler, Response } from 'express'

/**
 * Combines several middleware into one. For each layer that a request passes, Express matches the path and creates closures, which
 * costs more than a handful of one-line middleware do.
 */
export function inOrder(...handlers: readonly RequestHandler[]): RequestHandler {
  const run = (index: number, req: Request, res: Response, next: NextFunction): void => {
    const handler = handlers[index]
    if (handler === undefined) return next()
    const goOn = (error?: unknown) => (error === undefined ? run(index + 1, req, res, next) : next(error))
    try {
      const pending: unknown = handler(req, res, goOn)
      if (pending instanceof Promise) pending.catch(next)
    } catch (error) {
      next(error)
    }
  }
  return (req, res, next) => run(0, req, res, next)
}
