import { isAppError, type AppError } from '@signet/errors'
import type { ErrorRequestHandler, RequestHandler } from 'express'
import { sendBody, setHeaders } from './answer.js'
import { statusOf, type ErrorRenderer } from './error-renderer.js'
import { contextOf } from './request-context.js'

export type ErrorHandlerOptions = {
  errorRenderer: ErrorRenderer
  /** Converts errors of libraries into the API's own, e.g. a lost database into `unavailable`. */
  translate?: (error: unknown) => AppError | undefined
}

/** The last middleware. Renders known errors as they are and anything else as a fixed 500. Logs only 5xx as errors, with their cause. */
export function errorHandler({
  errorRenderer,
  translate = () => undefined,
}: ErrorHandlerOptions): ErrorRequestHandler {
  return (thrown: unknown, req, res, next) => {
    const error = isAppError(thrown) ? thrown : (translate(thrown) ?? routerError(thrown, errorRenderer))
    const status = statusOf(error)
    const context = contextOf(res)
    // Work was abandoned because its client has disconnected: nothing took too long.
    const isGivenUp = error.kind === 'timeout' && context.end.isGone
    if (!isGivenUp) context.fields['error_code'] = error.code
    // Not logged for 4xx, whose messages are for the caller and may quote the request.
    if (status >= 500 && !isGivenUp) context.fields['error'] = error.cause ?? error
    // Part of the response was already sent. Destroy the connection so that the client does not take the response for complete.
    if (res.headersSent) return next(thrown)
    const { headers = {}, body } = errorRenderer.render(error, req)
    // We no longer wait for the rest of the body (RFC 9110 section 15.5.9).
    if (error.kind === 'late') res.setHeader('Connection', 'close')
    if (error.retryAfterSeconds !== undefined)
      res.setHeader('Retry-After', String(Math.ceil(error.retryAfterSeconds)))
    setHeaders(res, headers)
    sendBody(res, status, body)
  }
}

// Express rejects malformed percent-encoding with an error of status 400. No such path exists.
function routerError(thrown: unknown, errorRenderer: ErrorRenderer): AppError {
  if (thrown instanceof URIError || (thrown as { status?: unknown } | null)?.status === 400)
    return errorRenderer.notFound()
  return errorRenderer.unexpected(thrown)
}

/** Mount after all routes: responds with the API's own 404 instead of Express's page. */
export const notFoundHandler =
  (errorRenderer: ErrorRenderer): RequestHandler =>
  () => {
    throw errorRenderer.notFound()
  }
