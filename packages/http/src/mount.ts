import type { IRouter, Request, RequestHandler, Response } from 'express'
import { sendBody, setHeaders } from './answer.js'
import { bodyReader } from './body.js'
import type { ErrorRenderer } from './error-renderer.js'
import { isPercentEncodedUtf8, queryOf } from './percent-encoding.js'
import { contextOf, type RequestContext } from './request-context.js'
import { requestTimeout } from './request-end.js'
import type { Answer, Route } from './route.js'
import { runSteps } from './run-steps.js'

export type MountOptions = {
  errorRenderer: ErrorRenderer
  /** Time limit of a request in milliseconds, after which the caller gets the timeout error. 0 means no limit. */
  timeoutMs?: number
  /** Headers of every response of these routes, including errors. */
  headers?: Readonly<Record<string, string>>
  /** Runs before a 405, for APIs that answer unauthenticated callers only with 401. */
  authenticate?: (req: Request, context: RequestContext) => Promise<unknown>
}

/** Handlers of routes without parameters, by method and path: `GET /user`. */
export type ExactRoutes = ReadonlyMap<string, RequestHandler>

/**
 * Mounts a list of routes. One pipeline serves all of them: limit, authenticate, guard, check the query, read the body, authenticate
 * again, handle, send. A known path with another method answers 405 with `Allow`, in the error renderer's format. Returns what
 * {@link withShortcut} needs.
 */
export function mountRoutes(router: IRouter, routes: readonly Route[], options: MountOptions): ExactRoutes {
  const handlers = routes.map((spec) => ({ ...spec, handler: pipeline(spec, options) }))
  const exact = exactRoutes(handlers)
  router.use((req, res, next) => {
    const handler = exact.get(`${req.method} ${req.path}`)
    return handler ? handler(req, res, next) : next()
  })
  for (const { method, path, handler } of handlers) router[method](path, handler)
  for (const [path, methods] of methodsByPath(routes)) {
    // Registered on a route, because `all` of an application creates a handler for every HTTP method.
    router.route(path).all(async (req, res) => {
      contextOf(res).route = path
      setHeaders(res, options.headers)
      await options.authenticate?.(req, contextOf(res))
      res.setHeader('Allow', methods.join(', '))
      throw options.errorRenderer.methodNotAllowed()
    })
  }
  return exact
}

/**
 * Routes that are looked up by their exact path. Everything else (parameters, different case, a trailing slash, HEAD) goes to the
 * router, which tries the routes one by one.
 */
const exactRoutes = (
  routes: readonly (Pick<Route, 'method' | 'path'> & { handler: RequestHandler })[],
): ExactRoutes =>
  new Map(
    routes
      .filter(({ path }) => !/[:*{]/.test(path))
      .map(({ method, path, handler }) => [`${method.toUpperCase()} ${path}`, handler]),
  )

function pipeline(spec: Route, options: MountOptions): RequestHandler {
  const readBody = spec.body ? bodyReader(spec.body, options.errorRenderer) : () => Promise.resolve(undefined)
  const readInput = (req: Request, res: Response): Promise<unknown> => {
    refuseUnreadableQuery(req, options.errorRenderer)
    return readBody(req, res)
  }
  const run = (req: Request, res: Response): Promise<Answer | void> => {
    const context = contextOf(res)
    context.route = spec.path
    context.params = req.params
    return runSteps(spec, { req, res, context }, readInput)
  }
  return async (req, res) => {
    setHeaders(res, options.headers)
    const answer = await withTimeLimit(contextOf(res), options.timeoutMs ?? 0, run(req, res))
    if (!res.headersSent) send(res, answer ?? {})
  }
}

function refuseUnreadableQuery(req: Request, errorRenderer: ErrorRenderer): void {
  if (isPercentEncodedUtf8(queryOf(req.url))) return
  throw errorRenderer.bodyError({
    kind: 'query',
    message: 'The query of the URL is not percent-encoded UTF-8',
  })
}

function send(res: Response, { status, headers, body }: Answer): void {
  setHeaders(res, headers)
  if (body === undefined) res.writeHead(status ?? 204).end()
  else sendBody(res, status ?? 200, body)
}

function withTimeLimit<T>({ end }: RequestContext, timeoutMs: number, work: Promise<T>): Promise<T> {
  if (timeoutMs === 0) return work
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(requestTimeout(end))
      end.abort()
    }, timeoutMs)
    work.finally(() => clearTimeout(timer)).then(resolve, reject)
  })
}

function methodsByPath(routes: readonly Route[]): Map<string, string[]> {
  const byPath = new Map<string, string[]>()
  for (const { method, path } of routes) {
    const methods = byPath.get(path) ?? []
    methods.push(method.toUpperCase(), ...(method === 'get' ? ['HEAD'] : []))
    byPath.set(path, methods)
  }
  return byPath
}
