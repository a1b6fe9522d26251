import { listen, type Service } from '@signet/http'
import { createInternalApp, createPublicApp } from './app.js'
import { createContext, type Context, type Ports } from './context.js'
import { type WebhooksConfig } from './config.js'
import { Schedule } from './maintenance/schedule.js'

/** A running API: its context, and the ports it really listens on. */
export type WebhooksService = Service & { ctx: Context; port: number; internalPort: number }

/** Listens on both ports and closes in reverse order: first no more requests, then what they used. */
export async function startService(
  config: WebhooksConfig,
  ports: Partial<Ports> = {},
): Promise<WebhooksService> {
  const ctx = createContext(config, ports)
  const { host } = config
  const schedule = startSchedule(ctx)
  const main = await listen(createPublicApp(ctx), { port: config.port, host })
  const internal = await listen(createInternalApp(ctx), { port: config.internalPort, host })
  ctx.log.info('listening', { port: main.port, internal_port: internal.port, base_url: config.baseUrl })
  return {
    ctx,
    port: main.port,
    internalPort: internal.port,
    async close() {
      await Promise.all([main.close(), internal.close(), schedule.close()])
      await ctx.close()
    },
  }
}

const HOUR_MS = 3_600_000

const startSchedule = ({ cleanUp, log }: Context): Schedule =>
  new Schedule(
    [
      { name: 'hourly clean-up', everyMs: HOUR_MS, run: () => cleanUp.runHourly() },
      { name: 'daily clean-up', everyMs: 24 * HOUR_MS, run: () => cleanUp.runDaily() },
    ],
    (name, error) => log.error('periodic job failed', { job: name, error }),
  )
