import type { RequestHandler } from 'express'
import type { Registry } from 'prom-client'
import type { Drain } from './drain.js'

/**
 * `/healthz` reports that the process runs. `/readyz` checks its dependencies and returns 503 if one fails, and once
 * `drain` has begun.
 */
export function healthHandlers(
  checks: Readonly<Record<string, () => Promise<unknown>>>,
  drain?: Drain,
): {
  live: RequestHandler
  ready: RequestHandler
} {
  return {
    live: (_req, res) => void res.json({ status: 'ok' }),
    ready: async (_req, res) => {
      if (drain?.hasBegun) return void res.status(503).json({ status: 'stopping' })
      const results = await Promise.allSettled(Object.values(checks).map((check) => check()))
      const failed = Object.keys(checks).filter((_, index) => results[index]?.status === 'rejected')
      if (failed.length === 0) res.json({ status: 'ok' })
      else res.status(503).json({ status: 'unavailable', failed })
    },
  }
}

/** Prometheus text format of a registry. */
export function metricsHandler(registry: Registry): RequestHandler {
  return async (_req, res) => {
    res.setHeader('Content-Type', registry.contentType)
    res.send(await registry.metrics())
  }
}
