import { pickRequestId, type Logger, type LogLevel } from '@signet/telemetry'
import { type Request, type RequestHandler, type Response } from 'express'
import { Histogram, type Registry } from 'prom-client'

/** What belongs to one request and is not HTTP: made by the first middleware, read with {@link contextOf}. */
export type RequestContext = {
  readonly requestId: string
  /** Puts the request's id on each of its lines. */
  readonly log: Logger
  /** Path pattern of the route that took the request; empty until one did. */
  route: string
  /** What the request has in the places of the pattern. */
  params: Readonly<Record<string, string | string[]>>
  /** More members of the request's log line; `error_code` and, for faults, `error` are set by the error handler. */
  readonly fields: Record<string, unknown>
}

export type RequestContextOptions = {
  log: Logger
  registry: Registry
  /** Inherit the request id from this header instead of making one. */
  requestIdHeader?: string | undefined
  /** Requests that leave no log line, such as health checks. */
  quiet?: (req: Request) => boolean
  /** Who is asking, for the log; the socket's address by default. */
  remoteAddress?: (req: Request) => string
}

/** Gives each request an id, a logger, one log line when it is answered, and its place in the duration histogram. */
export function requestContext(options: RequestContextOptions): RequestHandler {
  const {
    log,
    quiet = () => false,
    remoteAddress = (req: Request) => req.socket.remoteAddress ?? '',
  } = options
  const observe = durationObserver(options.registry)
  return (req, res, next) => {
    const startedAt = performance.now()
    const inherited = options.requestIdHeader === undefined ? undefined : req.get(options.requestIdHeader)
    const requestId = pickRequestId(inherited)
    const context = newContext(log, requestId)
    res.locals['context'] = context
    res.setHeader('X-Request-Id', requestId)
    res.on('close', () => {
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

/** The logger is made when it is asked for: most requests leave one line. */
function newContext(log: Logger, requestId: string): RequestContext {
  let own: Logger | undefined
  return {
    requestId,
    get log() {
      return (own ??= log.child({ request_id: requestId }))
    },
    route: '',
    params: {},
    fields: {},
  }
}

export function contextOf(res: Response): RequestContext {
  return res.locals['context'] as RequestContext
}

/** For code that has the request alone: Express keeps the two together. */
export const contextOfRequest = (req: Request): RequestContext => contextOf(req.res as Response)

/** A client that went away before the answer is not a success; 499 is the word proxies use for it. */
export const statusSeen = (res: Response): number => (res.writableFinished ? res.statusCode : 499)

// The query may carry tokens and codes, so the log has the path alone.
const pathOf = (req: Request) => req.originalUrl.split('?', 1)[0] ?? ''

const levelOf = (status: number): LogLevel => (status >= 500 ? 'error' : status >= 400 ? 'warn' : 'info')

type Duration = Histogram<'method' | 'route' | 'status_class'>

/** Looks a series of the histogram up once, not at every request. */
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
    help: 'Time from request to answer, by route pattern',
    labelNames: ['method', 'route', 'status_class'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
}
