import type { RequestListener } from 'node:http'
import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express'
import { inOrder } from './in-order.js'
import type { ExactRoutes } from './mount.js'

/** What `listen` serves. It takes the prototypes of requests and answers from here. */
export type Application = RequestListener & Pick<Express, 'request' | 'response'>

type Parts = {
  /** All middleware that the application runs before its routes, in its order. */
  before: readonly RequestHandler[]
  routes: ExactRoutes
  onError: ErrorRequestHandler
}

/**
 * Returns the application with a shortcut to its routes without parameters. The shortcut runs the same middleware, pipeline and error
 * handler without Express's router around them, which takes about as long as a whole response of `node:http` (decision 0152). The
 * application handles every other request, including those without its prototypes, which `listen` sets.
 */
export function withShortcut(app: Express, { before, routes, onError }: Parts): Application {
  const shortcuts = new Map(
    [...routes].map(([route, handler]) => [route, inOrder(...before, handler)] as const),
  )
  const listener: RequestListener = (message, answer) => {
    const shortcut = shortcuts.get(`${message.method} ${pathOf(message.url)}`)
    const isReady = Object.getPrototypeOf(message) === app.request
    if (shortcut === undefined || !isReady) return void app(message, answer)
    const [req, res] = [message as Request, answer as Response]
    takeOver(req, res)
    void shortcut(req, res, (error) => {
      try {
        void onError(error, req, res, () => req.socket.destroy())
      } catch {
        req.socket.destroy()
      }
    })
  }
  return Object.assign(listener, { request: app.request, response: app.response })
}

const pathOf = (url = ''): string => {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/** Sets what Express sets on each request, and what its router sets for a route without parameters. */
function takeOver(req: Request, res: Response): void {
  req.res = res
  res.req = req
  res.locals = {}
  req.params = {}
  req.baseUrl = ''
  req.originalUrl = req.url
}
