import { brandOf } from '@signet/brand'
import { healthHandlers, metricsHandler } from '@signet/http'
import express, { type Express, type RequestHandler } from 'express'
import { adminRoutes } from './admin/admin-routes.js'
import { readersWithToken } from './admin/admin-token.js'
import { ADMIN_PATH, QUEUES_PATH } from './admin/pages/admin-page.js'
import type { Context } from './context.js'

/** Health, metrics and the pages for operators, on a private port. The dispatcher has no public routes. */
export function createApp(context: Context): Express {
  const { config, db, registry, isRedisReady, drain, log, admin, operatorLimiter, observer, now } = context
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
    app.use(QUEUES_PATH, readers, dashboardOf(context))
  }
  app.use((_req, res) => void res.status(404).json({ error: { code: 'not_found', message: 'No such page' } }))
  return app
}

/** Loads Bull Board when an operator first opens it: it is a third of what the service would otherwise load at its start. */
function dashboardOf({ queues, config }: Context): RequestHandler {
  let loading: Promise<RequestHandler> | undefined
  const load = async () =>
    (await import('./admin/queue-dashboard.js')).queueDashboard(queues, brandOf(config))
  return async (req, res, next) => {
    const dashboard = await (loading ??= load())
    await dashboard(req, res, next)
  }
}
