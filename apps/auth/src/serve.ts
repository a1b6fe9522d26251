import { listen, type Service } from '@signet/http'
import { createApp } from './app.js'
import { smsConfig } from './config/parts.js'
import { loadAuthConfig, unsupportedVariables } from './config.js'
import { createAuthLogger, createContext, type AuthContext } from './context.js'
import { startMetrics, startTracing } from './telemetry/exporters.js'

type Environment = Readonly<Record<string, string | undefined>>

/** Starts the server; the returned service stops it, letting requests in flight end first. */
export async function serve(env: Environment): Promise<Service> {
  const config = loadAuthConfig(env)
  const log = createAuthLogger(config)
  const tracing = await startTracing(config, log)
  const context = createContext(config, { log, ...(tracing ? { tracing } : {}) })
  let metrics: Awaited<ReturnType<typeof startMetrics>>
  // Both exporters at once: each may take some seconds where its collector is down.
  const flush = () => Promise.all([metrics?.close(), tracing?.close()])
  const open: (() => Promise<unknown>)[] = [() => context.close(), flush]
  const close = async () => {
    for (const end of open.splice(0).reverse()) await end()
  }
  try {
    tellDoubts(context, env)
    metrics = await startMetrics(config, context.registry, log)
    const listener = await listen(createApp(context), {
      port: config.apiPort,
      host: config.apiHost,
      setting: 'AUTH_API_PORT',
    })
    open.push(() => listener.close())
    if (config.dbCleanupEnabled) open.push(context.cleanup.start())
    context.events.started(listener.port)
    return { close }
  } catch (error) {
    await close()
    throw error
  }
}

/** What is probably not meant, and no reason to stay down. */
function tellDoubts({ config, events, providers }: AuthContext, env: Environment): void {
  for (const name of unsupportedVariables(env)) events.unsupportedVariable(name)
  for (const { provider, missing } of providers.incomplete) events.providerIncomplete(provider, missing)
  if (config.phoneEnabled && smsConfig(config, '').gateway === undefined) events.smsUnavailable()
}
