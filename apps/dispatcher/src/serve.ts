import { listen, type Service } from '@signet/http'
import { createApp } from './app.js'
import { type DispatcherConfig } from './config.js'
import { createContext } from './context.js'
import { service } from './version.js'

/** Starts health and metrics, then the work. Stopping goes the other way round and drains what is in flight. */
export async function serve(config: DispatcherConfig): Promise<Service> {
  const context = createContext(config)
  const listener = await listen(createApp(context), {
    port: config.port,
    host: config.host,
    setting: 'DISPATCHER_PORT',
  })
  context.engine.start()
  context.log.info('ready', { version: service.version, port: listener.port })
  return {
    async close() {
      context.log.info('draining', { in_flight: context.lanes.size })
      await context.engine.stop()
      await listener.close(500)
      await context.close()
    },
  }
}
