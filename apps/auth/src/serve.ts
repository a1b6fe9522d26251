import { listen, type Service } from '@signet/http'
import { createApp } from './app.js'
import { loadAuthConfig, unsupportedVariables } from './config.js'
import { createContext } from './context.js'
import { startMetricsListener } from './metrics-listener.js'

type Environment = Readonly<Record<string, string | undefined>>

/** Starts the server; the returned service stops it, letting requests in flight end first. */
export async function serve(env: Environment): Promise<Service> {
  const config = loadAuthConfig(env)
  const context = createContext(config)
  for (const name of unsupportedVariables(env)) context.events.unsupportedVariable(name)
  const listener = await listen(createApp(context), { port: config.apiPort, host: config.apiHost }).catch(
    async (error: unknown) => {
      await context.close()
      throw error
    },
  )
  const metrics = await startMetricsListener(config, context.registry)
  const stopCleanup = config.dbCleanupEnabled ? context.cleanup.start() : () => Promise.resolve()
  context.events.started(listener.port)
  return {
    async close() {
      await stopCleanup()
      await listener.close()
      await metrics?.close()
      await context.close()
    },
  }
}
