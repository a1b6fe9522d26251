import { contextOf, statusSeen, type RequestContext } from '@signet/http'
import type { Span, SpanAttributes, Tracing } from '@signet/telemetry'
import type { Request, RequestHandler } from 'express'
import type { Observer } from '../observers/observer.js'
import { isUuid } from '../users/uuid.js'

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** A span and a count for each request (docs/specification.md#tracing-and-metrics). Mounted only while one of them is exported. */
export function requestTelemetry(observer: Observer, tracing: Tracing | undefined): RequestHandler {
  return (req, res, next) => {
    const context = contextOf(res)
    const span = tracing && startSpan(tracing, req, context)
    res.once('close', () => {
      const status = statusSeen(res)
      observer.answered(status, context.route)
      if (span) endSpan(span, methodOf(req), status, context)
    })
    if (tracing && span) tracing.within(span, () => next())
    else next()
  }
}

// Spans never contain the URL, a header, the body or the caller's address, because those hold tokens, codes and personal data.
function startSpan(tracing: Tracing, req: Request, { requestId }: RequestContext): Span {
  const method = methodOf(req)
  return tracing.start(method, {
    kind: 'server',
    traceparent: req.get('traceparent'),
    attributes: { 'http.method': method, 'http.request.method': method, 'auth.request_id': requestId },
  })
}

function endSpan(
  span: Span,
  method: string,
  status: number,
  { route, params, fields }: RequestContext,
): void {
  span.set({ 'http.status_code': status, 'http.response.status_code': status })
  if (route !== '') {
    const pattern = route.replace(/:(\w+)/g, '{$1}')
    span.rename(`${method} ${pattern}`)
    span.set({ 'http.route': pattern, ...paramAttributes(params) })
  }
  const { error_code: code } = fields
  if (typeof code === 'string') span.set({ 'auth.error_code': code })
  if (status >= 500) span.fail(typeof code === 'string' ? code : String(status))
  span.end()
}

/** Only ids are recorded. Anything else in the place of a parameter, such as an address, is left out. */
const paramAttributes = (params: RequestContext['params']): SpanAttributes =>
  Object.fromEntries(
    Object.entries(params).map(([key, value]) => [
      `http.route.params.${key}`,
      typeof value === 'string' && isUuid(value) ? value : 'invalid',
    ]),
  )

const methodOf = ({ method }: Request): string => (METHODS.has(method) ? method : '_OTHER')
