import { listen, type Service } from '@signet/http'
import { createInternalApp, createPublicApp } from './app.js'
import { createContext, type Context, type Ports } from './context.js'
import { type WebhooksConfig } from './config.js'

/** A running API: its context, and the ports it really listens on. */
export type WebhooksService = Service & { ctx: Context; port: number; internalPort: number }

/** Listens on both ports and closes in reverse order: first no more requests, then what they used. */
export async function startService(
  config: WebhooksConfig,
  ports: Partial<Ports> = {},
): Promise<WebhooksService> {
  const ctx = createContext(config, ports)
  const { host } = config
  const main = await listen(createPublicApp(ctx), { port: config.port, host })
  const internal = await listen(createInternalApp(ctx), { port: config.internalPort, host })
  ctx.log.info('listening', { port: main.port, internal_port: internal.port, base_url: config.baseUrl })
  return {
    ctx,
    port: main.port,
    internalPort: internal.port,
    async close() {
      await Promise.all([main.close(), internal.close()])
      await ctx.close()
    },
  }
}
