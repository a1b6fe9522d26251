import { createLogger, createRegistry } from '@signet/telemetry'
import express, { type Express } from 'express'
import {
  errorHandler,
  metricsHandler,
  mountRoutes,
  notFoundHandler,
  requestContext,
  type Route,
} from '../src/index.js'
import { errorRenderer } from './error-renderer.js'

type Line = Record<string, unknown>

/** An application with these routes, and the lines that it logs. */
export function build(routes: Route[], timeoutMs = 0): { app: Express; lines: Line[] } {
  const lines: Line[] = []
  const log = createLogger({
    level: 'debug',
    component: 'api',
    sink: (line) => lines.push(JSON.parse(line) as Line),
  })
  const registry = createRegistry({ runtime: false })
  const app = express().disable('x-powered-by')
  app.use(requestContext({ log, registry, quiet: (req) => req.path === '/quiet' }))
  app.get('/metrics', metricsHandler(registry))
  mountRoutes(app, routes, { errorRenderer, timeoutMs, headers: { 'Cache-Control': 'no-store' } })
  app.use(notFoundHandler(errorRenderer))
  app.use(errorHandler({ errorRenderer }))
  return { app, lines }
}
