import { isAppError, type AppError } from '@signet/errors'
import { type ErrorRequestHandler, type RequestHandler } from 'express'
import { sendBody, setHeaders } from './answer.js'
import { statusOf, type Dialect } from './dialect.js'
import { contextOf } from './request-context.js'

export type ErrorHandlerOptions = {
  dialect: Dialect
  /** Turns errors of libraries into the API's own, e.g. a lost database into `unavailable`. */
  translate?: (error: unknown) => AppError | undefined
}

/** The last middleware: known errors as they are, all else as a fixed 500. Only 5xx is logged as an error, with its cause. */
export function errorHandler({
  dialect,
  translate = () => undefined,
}: ErrorHandlerOptions): ErrorRequestHandler {
  return (thrown: unknown, req, res, next) => {
    const error = isAppError(thrown) ? thrown : (translate(thrown) ?? routerError(thrown, dialect))
    const status = statusOf(error)
    const context = contextOf(res)
    context.fields['error_code'] = error.code
    // Not of refusals: their texts are for the caller, and some quote the request.
    if (status >= 500) context.fields['error'] = error.cause ?? error
    // Part of the answer is gone already: all that is left is to break the connection so that nobody takes it as whole.
    if (res.headersSent) return next(thrown)
    const { headers = {}, body } = dialect.render(error, req)
    if (error.retryAfterSeconds !== undefined)
      res.setHeader('Retry-After', String(Math.ceil(error.retryAfterSeconds)))
    setHeaders(res, headers)
    sendBody(res, status, body)
  }
}

// Express refuses malformed percent-encoding with an error that carries status 400; no such path exists.
function routerError(thrown: unknown, dialect: Dialect): AppError {
  if (thrown instanceof URIError || (thrown as { status?: unknown } | null)?.status === 400)
    return dialect.notFound()
  return dialect.unexpected(thrown)
}

/** Mounted after all routes: the API's own 404 instead of Express's page. */
export const notFoundHandler =
  (dialect: Dialect): RequestHandler =>
  () => {
    throw dialect.notFound()
  }
