import { AppError } from '@signet/errors'
import { type IRouter, type Request, type RequestHandler, type Response } from 'express'
import { bodyReader } from './body.js'
import { type Dialect } from './dialect.js'
import { contextOf, type RequestContext } from './request-context.js'
import { type Answer, type Route } from './route.js'

export type MountOptions = {
  dialect: Dialect
  /** Time for one request, in milliseconds; past it the caller gets the timeout error. 0 is no limit. */
  timeoutMs?: number
  /** Headers of every answer of these routes, errors included. */
  headers?: Readonly<Record<string, string>>
  /** Runs before a 405, for APIs that tell strangers nothing but 401. */
  authenticate?: (req: Request, context: RequestContext) => Promise<unknown>
}

/**
 * Mounts a list of routes. One pipeline serves all of them: limit, authenticate, guard, read the body, handle, send.
 * A known path with another method answers 405 with `Allow`, in the dialect.
 */
export function mountRoutes(router: IRouter, routes: readonly Route[], options: MountOptions): void {
  for (const spec of routes) router[spec.method](spec.path, pipeline(spec, options))
  for (const [path, methods] of methodsByPath(routes)) {
    router.all(path, async (req, res) => {
      contextOf(res).route = path
      setHeaders(res, options.headers)
      await options.authenticate?.(req, contextOf(res))
      res.setHeader('Allow', methods.join(', '))
      throw options.dialect.methodNotAllowed()
    })
  }
}

function pipeline(spec: Route, options: MountOptions): RequestHandler {
  const readBody = spec.body ? bodyReader(spec.body, options.dialect) : () => Promise.resolve(undefined)
  const run = async (req: Request, res: Response, signal: AbortSignal): Promise<Answer | void> => {
    const context = contextOf(res)
    context.route = spec.path
    await spec.limit?.(req, context)
    const caller = await spec.authenticate?.(req, context)
    await spec.guard?.({ caller, req, res, context })
    const body = await readBody(req, res)
    return spec.handle({ caller, body, req, res, context, signal })
  }
  return async (req, res) => {
    setHeaders(res, options.headers)
    const answer = await withTimeLimit(res, options.timeoutMs ?? 0, (signal) => run(req, res, signal))
    if (!res.headersSent) send(res, answer ?? {})
  }
}

function send(res: Response, { status, headers, body }: Answer): void {
  setHeaders(res, headers)
  if (body === undefined) res.status(status ?? 204).end()
  else if (typeof body === 'string') res.status(status ?? 200).send(body)
  else res.status(status ?? 200).json(body)
}

function setHeaders(res: Response, headers: Readonly<Record<string, string>> = {}): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
}

async function withTimeLimit<T>(
  res: Response,
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController()
  const onClose = () => abort.abort()
  res.once('close', onClose)
  if (timeoutMs === 0) return work(abort.signal)
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new AppError('timeout', 'request_timeout', 'The request took too long'))
      abort.abort()
    }, timeoutMs)
  })
  try {
    return await Promise.race([work(abort.signal), limit])
  } finally {
    clearTimeout(timer)
  }
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
