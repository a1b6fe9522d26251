import { healthHandlers, metricsHandler } from '@signet/http'
import express, { type Express } from 'express'
import { readersWithToken } from './admin/admin-token.js'
import { DASHBOARD_PATH, queueDashboard } from './admin/queue-dashboard.js'
import type { Context } from './context.js'

/** Health, metrics and the queue dashboard, on a private port. The dispatcher has no public routes. */
export function createApp({ config, db, registry, queues, isRedisReady, drain, log }: Context): Express {
  const app = express()
  app.disable('x-powered-by')
  const { live, ready } = healthHandlers({
    required: { database: () => db.ping(), redis: isRedisReady },
    drain,
    log,
  })
  app.get('/healthz', live)
  app.get('/readyz', ready)
  app.get('/metrics', metricsHandler(registry))
  if (config.adminToken !== undefined)
    app.use(DASHBOARD_PATH, readersWithToken(config.adminToken), queueDashboard(queues))
  app.use((_req, res) => void res.status(404).json({ error: { code: 'not_found', message: 'No such page' } }))
  return app
}
