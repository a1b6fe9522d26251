import type { Logger } from '@signet/telemetry'
import type { RequestHandler } from 'express'
import type { Registry } from 'prom-client'
import type { Drain } from './drain.js'

type Checks = Readonly<Record<string, () => unknown>>

export type HealthOptions = {
  /** Dependencies that the service cannot work without. Each check throws or rejects while its dependency cannot be reached. */
  required: Checks
  /** Dependencies that the service can do without for a while. */
  optional?: Checks | undefined
  drain?: Drain
  /** Gets one line whenever the status changes. */
  log: Logger
}

type Status = 'ready' | 'degraded' | 'unavailable' | 'draining'

/**
 * `/healthz` reports that the process runs. `/readyz` says whether it should get requests: 200 if it is `ready`, or `degraded` because
 * an optional dependency is missing; 503 if it is `unavailable` because a required one is missing, or `draining`. `failed` names what
 * is missing.
 */
export function healthHandlers({ required, optional = {}, drain, log }: HealthOptions): {
  live: RequestHandler
  ready: RequestHandler
} {
  let last = 'ready'
  const report = (status: Status, failed: readonly string[]) => {
    const state = [status, ...failed].join()
    if (state === last) return
    last = state
    if (status === 'ready') log.info('ready again')
    else if (status !== 'draining') log.warn(status, { failed })
  }
  return {
    live: (_req, res) => void res.json({ status: 'ok' }),
    ready: async (_req, res) => {
      const [needed, missed] = await Promise.all([failures(required), failures(optional)])
      const failed = [...needed, ...missed]
      const status = statusOf(drain, needed, missed)
      report(status, failed)
      res.status(status === 'ready' || status === 'degraded' ? 200 : 503)
      res.json({ status, ...(failed.length > 0 && { failed }) })
    },
  }
}

function statusOf(drain: Drain | undefined, needed: readonly string[], missed: readonly string[]): Status {
  if (drain?.hasBegun) return 'draining'
  if (needed.length > 0) return 'unavailable'
  return missed.length > 0 ? 'degraded' : 'ready'
}

async function failures(checks: Checks): Promise<string[]> {
  const names = Object.keys(checks)
  const results = await Promise.allSettled(
    Object.values(checks).map((check) => Promise.resolve().then(check)),
  )
  return names.filter((_, index) => results[index]?.status === 'rejected')
}

/** Prometheus text format of a registry. */
export function metricsHandler(registry: Registry): RequestHandler {
  return async (_req, res) => {
    res.setHeader('Content-Type', registry.contentType)
    res.send(await registry.metrics())
  }
}
