import { type RequestHandler } from 'express'
import { type Registry } from 'prom-client'

/** `/healthz` says the process runs; `/readyz` asks what it depends on and answers 503 when one check rejects. */
export function healthHandlers(checks: Readonly<Record<string, () => Promise<unknown>>>): {
  live: RequestHandler
  ready: RequestHandler
} {
  return {
    live: (_req, res) => void res.json({ status: 'ok' }),
    ready: async (_req, res) => {
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
