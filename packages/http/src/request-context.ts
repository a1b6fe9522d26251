import { pickRequestId, type Logger, type LogLevel, type RequestMeta } from '@signet/telemetry'
import type { Request, RequestHandler, Response } from 'express'
import { Histogram, type Registry } from 'prom-client'
import { refusedStatusOf } from './bad-http.js'
import { RequestEnd } from './request-end.js'

/** Data of one request that is not HTTP: created by the first middleware, read with {@link contextOf}. */
export type RequestContext = RequestMeta & {
  /** Path pattern of the matching route. Empty until a route has matched. */
  route: string
  /** Values of the path parameters. */
  params: Readonly<Record<string, string | string[]>>
  /** Additional members of the request's log line. The error handler sets `error_code` and, for 5xx, `error`. */
  readonly fields: Record<string, unknown>
  /** Maximum useful length of a response in characters, if there is a limit: a longer one can be cut or left out. */
  readonly maxAnswerLength?: number
  /**
   * Used by the pipeline to time the request out, for resources held until the response is finished or abandoned, and for work that
   * should stop with the request: `end.signal`.
   */
  readonly end: RequestEnd
}

export type RequestContextOptions = {
  log: Logger
  registry: Registry
  /** Header from which to inherit the request id. */
  requestIdHeader?: string | undefined
  /** Requests that are not logged, such as health checks. */
  quiet?: (req: Request) => boolean
  /** The client's address for the log. Defaults to the socket's address. */
  remoteAddress?: (req: Request) => string
}

/** Gives each request an id, logs one line when it ends, and records its duration. */
export function requestContext(options: RequestContextOptions): RequestHandler {
  const {
    log,
    quiet = () => false,
    remoteAddress = (req: Request) => req.socket.remoteAddress ?? '',
  } = options
  const observe = durationObserver(options.registry)
  return (req, res, next) => {
    const startedAt = performance.now()
    // A socket remembers its peer's address only if it was read while connected.
    void req.socket.remoteAddress
    const inherited = options.requestIdHeader === undefined ? undefined : req.get(options.requestIdHeader)
    const requestId = pickRequestId(inherited)
    const end = new RequestEnd(res, (error) =>
      log.error('a listener for the end of a request failed', { request_id: requestId, error }),
    )
    const context: RequestContext = { requestId, route: '', params: {}, fields: {}, end }
    res.locals['context'] = context
    res.setHeader('X-Request-Id', requestId)
    context.end.onceGone(() => {
      const ms = performance.now() - startedAt
      const status = statusSeen(res)
      const route = context.route === '' ? 'unmatched' : context.route
      observe(req.method, route, Math.floor(status / 100), ms / 1000)
      if (quiet(req)) return
      log.log(levelOf(status), 'request', {
        request_id: requestId,
        method: req.method,
        path: pathOf(req),
        route,
        status,
        // In milliseconds.
        duration: Math.round(ms * 10) / 10,
        remote_addr: remoteAddress(req),
        ...context.fields,
      })
    })
    next()
  }
}

export function contextOf(res: Response): RequestContext {
  return res.locals['context'] as RequestContext
}

/** For code that only has the request. */
export const contextOfRequest = (req: Request): RequestContext => contextOf(req.res as Response)

/**
 * The status that the client saw: 499, as proxies report it, if it disconnected before the response. Only an answer that has left the
 * process is detached from its socket; one to a connection that is gone looks finished too.
 */
export const statusSeen = (res: Response): number =>
  res.writableFinished && res.socket === null ? res.statusCode : (refusedStatusOf(res) ?? 499)

// The query may contain tokens and codes, so only the path is logged.
const pathOf = (req: Request) => req.originalUrl.split('?', 1)[0] ?? ''

const levelOf = (status: number): LogLevel => (status >= 500 ? 'error' : status >= 400 ? 'warn' : 'info')

type Duration = Histogram<'method' | 'route' | 'status_class'>

/** Looks up each series of the histogram once, not for every request. */
function durationObserver(registry: Registry) {
  const histogram = durationHistogram(registry)
  const series = new Map<string, ReturnType<Duration['labels']>>()
  return (method: string, route: string, statusClass: number, seconds: number): void => {
    const key = `${method} ${statusClass} ${route}`
    let found = series.get(key)
    if (!found) {
      found = histogram.labels({ method, route, status_class: `${statusClass}xx` })
      series.set(key, found)
    }
    found.observe(seconds)
  }
}

function durationHistogram(registry: Registry): Duration {
  const name = 'http_request_duration_seconds'
  const existing = registry.getSingleMetric(name)
  if (existing) return existing as Duration
  return new Histogram({
    name,
    help: 'Request duration by route pattern',
    labelNames: ['method', 'route', 'status_class'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
}
