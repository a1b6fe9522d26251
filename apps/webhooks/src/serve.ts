import { listen, type Listener, type Service } from '@signet/http'
import { CLOCK_INTERVAL_MS } from '@signet/db'
import { Periodic, type PeriodicOptions } from '@signet/periodic'
import { createInternalApp, createPublicApp } from './app.js'
import { createContext, type Context, type Ports } from './context.js'
import type { WebhooksConfig } from './config/config.js'

/** A running API with its context and the ports that it is listening on. */
export type WebhooksService = Service & { ctx: Context; port: number; internalPort: number }

/** Listens on both ports. Closes in reverse order: first stops accepting requests, then closes what they used. */
export async function serve(config: WebhooksConfig, ports: Partial<Ports> = {}): Promise<WebhooksService> {
  const ctx = createContext(config, ports)
  // The service also starts without an answer, and is ready once it gets one.
  await ctx.clock.adjust().catch(() => undefined)
  const { main, internal } = await openListeners(ctx).catch(async (error: unknown) => {
    await ctx.close()
    throw error
  })
  // Starts jobs only after the ports are bound: a process that fails to start should not clean up either.
  const jobs = startJobs(ctx)
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
      await Promise.all([main.close(), internal.close(), ...jobs.map((job) => job.stop())])
      await ctx.close()
    },
  }
}

/** Opens both listeners, or neither. */
async function openListeners(ctx: Context): Promise<{ main: Listener; internal: Listener }> {
  const { drain } = ctx
  const { host, port, internalPort } = ctx.config
  const settings = (name: string) => ({ port: name, host: 'WEBHOOKS_HOST' })
  const main = await listen(createPublicApp(ctx), {
    port,
    host,
    settings: settings('WEBHOOKS_PORT or PORT'),
    drain,
  })
  try {
    const options = { port: internalPort, host, settings: settings('WEBHOOKS_INTERNAL_PORT'), drain }
    return { main, internal: await listen(createInternalApp(ctx), options) }
  } catch (error) {
    await main.close()
    throw error
  }
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The periodic work of the API, which any of its processes can do. */
function startJobs({ cleanup, clock, webhooks, log }: Context): readonly Periodic[] {
  const job = (name: string, everyMs: number, run: PeriodicOptions['run']) =>
    new Periodic({
      everyMs,
      // Starts soon, because a process may not live as long as the interval.
      firstMs: MINUTE_MS,
      run,
      onError: (error) => log.error('periodic job failed', { job: name, error }),
    })
  const jobs = [
    job('hourly clean-up', HOUR_MS, (stop) => cleanup.runHourly(stop)),
    job('removal of deleted accounts', MINUTE_MS, (stop) => webhooks.accountRemoval.purgeAll(stop)),
    job('daily clean-up', 24 * HOUR_MS, (stop) => cleanup.runDaily(stop)),
    new Periodic({
      everyMs: CLOCK_INTERVAL_MS,
      run: () => clock.adjust(),
      // The clock keeps its last offset, and readiness reports the database.
      onError: () => undefined,
    }),
  ]
  for (const each of jobs) each.start()
  return jobs
}
