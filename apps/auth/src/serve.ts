import { listen, type Service } from '@signet/http'
import { createApp } from './app.js'
import { strayRedirectUris } from './config/provider-settings.js'
import { loadAuthConfig, unsupportedVariables } from './config/config.js'
import { createAuthLogger, createContext, type AuthContext } from './context.js'
import { smsConfig } from './services/part-settings.js'
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
    // So that the first request finds a key, and the first reader of the JWK Set too. Without a database it comes later.
    await context.keys.forSigning().catch(() => undefined)
    metrics = await startMetrics(config, context.registry, log)
    // Ends after the listener, so that the last answers' messages still go out.
    open.push(context.outboxSender.start())
    const listener = await listen(createApp(context), {
      port: config.apiPort,
      host: config.apiHost,
      setting: 'AUTH_API_PORT',
      drain: context.drain,
    })
    open.push(() => listener.close())
    if (config.dbCleanupEnabled) open.push(context.cleanup.start())
    context.observer.started(listener.port)
    return { drain: context.drain, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** What is probably not meant, and no reason to stay down. */
function tellDoubts({ config, observer }: AuthContext, env: Environment): void {
  for (const name of unsupportedVariables(env)) observer.unsupportedVariable(name)
  for (const name of strayRedirectUris(config)) observer.strayRedirectUri(name)
  if (config.phoneEnabled && smsConfig(config, '').gateway === undefined) observer.smsUnavailable()
}
