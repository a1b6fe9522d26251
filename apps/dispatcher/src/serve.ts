import { listen, type Service } from '@signet/http'
import { createApp } from './app.js'
import type { DispatcherConfig } from './config/config.js'
import { createContext } from './context.js'
import { service } from './version.js'

/** Starts health checks and metrics, then the engine. Stops in reverse order and drains attempts in flight. */
export async function serve(config: DispatcherConfig): Promise<Service> {
  const context = createContext(config)
  const listener = await listen(createApp(context), {
    port: config.port,
    host: config.host,
    settings: { port: 'DISPATCHER_PORT or PORT', host: 'DISPATCHER_HOST' },
    drain: context.drain,
  })
  context.engine.start()
  if (config.adminToken !== undefined) context.history.start()
  context.log.info('listening', { version: service.version, port: listener.port })
  return {
    drain: context.drain,
    async close() {
      context.log.info('waiting for attempts in flight', { in_flight: context.limiter.size })
      await context.engine.stop()
      await listener.close(500)
      await context.close()
    },
  }
}
