import { brandOf } from '@signet/brand'
import { healthHandlers, metricsHandler } from '@signet/http'
import express, { type Express } from 'express'
import { adminRoutes } from './admin/admin-routes.js'
import { readersWithToken } from './admin/admin-token.js'
import { ADMIN_PATH, QUEUES_PATH } from './admin/pages/admin-page.js'
import { queueDashboard } from './admin/queue-dashboard.js'
import type { Context } from './context.js'

/** Health, metrics and the pages for operators, on a private port. The dispatcher has no public routes. */
export function createApp(context: Context): Express {
  const { config, db, registry, queues, isRedisReady, drain, log, admin, operatorLimiter, observer, now } =
    context
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
  if (config.adminToken !== undefined) {
    const brand = brandOf(config)
    const readers = readersWithToken({ token: config.adminToken, limiter: operatorLimiter, observer })
    app.get('/', (_req, res) => res.redirect(303, ADMIN_PATH))
    app.use(ADMIN_PATH, readers, adminRoutes({ admin, observer, brand, now }))
    app.use(QUEUES_PATH, readers, queueDashboard(queues, brand))
  }
  app.use((_req, res) => void res.status(404).json({ error: { code: 'not_found', message: 'No such page' } }))
  return app
}
