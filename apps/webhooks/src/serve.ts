import { listen, type Listener, type Service } from '@signet/http'
import { createInternalApp, createPublicApp } from './app.js'
import { createContext, type Context, type Ports } from './context.js'
import type { WebhooksConfig } from './config/config.js'
import { Schedule } from './maintenance/schedule.js'

/** A running API: its context, and the ports it really listens on. */
export type WebhooksService = Service & { ctx: Context; port: number; internalPort: number }

/** Listens on both ports and closes in reverse order: first no more requests, then what they used. */
export async function serve(config: WebhooksConfig, ports: Partial<Ports> = {}): Promise<WebhooksService> {
  const ctx = createContext(config, ports)
  const { main, internal } = await openListeners(ctx).catch(async (error: unknown) => {
    await ctx.close()
    throw error
  })
  // Only once the ports are bound: a process that fails to start should not clean up either.
  const schedule = startSchedule(ctx)
  ctx.warnings?.start()
  if (config.identityEventsSecrets.length === 0)
    ctx.log.warn(
      'account events are refused, so people who are banned, deleted or signed out everywhere keep their tokens here: WEBHOOKS_IDENTITY_EVENTS_SECRETS is not set',
    )
  ctx.log.info('listening', { port: main.port, internal_port: internal.port, base_url: config.baseUrl })
  return {
    ctx,
    drain: ctx.drain,
    port: main.port,
    internalPort: internal.port,
    async close() {
      await Promise.all([main.close(), internal.close(), schedule.close()])
      await ctx.close()
    },
  }
}

/** Opens both listeners, or neither. */
async function openListeners(ctx: Context): Promise<{ main: Listener; internal: Listener }> {
  const { drain } = ctx
  const { host, port, internalPort } = ctx.config
  const main = await listen(createPublicApp(ctx), { port, host, setting: 'WEBHOOKS_PORT', drain })
  try {
    const options = { port: internalPort, host, setting: 'WEBHOOKS_INTERNAL_PORT', drain }
    return { main, internal: await listen(createInternalApp(ctx), options) }
  } catch (error) {
    await main.close()
    throw error
  }
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const startSchedule = ({ cleanup, webhooks, log }: Context): Schedule =>
  new Schedule(
    [
      { name: 'hourly clean-up', everyMs: HOUR_MS, run: (stop) => cleanup.runHourly(stop) },
      {
        name: 'removal of deleted accounts',
        everyMs: MINUTE_MS,
        run: (stop) => webhooks.accountRemoval.purgeAll(stop),
      },
      { name: 'daily clean-up', everyMs: 24 * HOUR_MS, run: (stop) => cleanup.runDaily(stop) },
    ],
    (name, error) => log.error('periodic job failed', { job: name, error }),
  )
