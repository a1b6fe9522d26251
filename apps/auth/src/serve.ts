import { CLOCK_INTERVAL_MS } from '@signet/db'
import { listen, type Service } from '@signet/http'
import { Periodic } from '@signet/periodic'
import { createApp } from './app.js'
import { strayRedirectUris } from './config/provider-settings.js'
import type { AuthConfig } from './config/config.js'
import { unsupportedVariables } from './config/read-config.js'
import { createAuthLogger, createContext, type AuthContext } from './context.js'
import { smsConfig } from './services/message-settings.js'
import { startMetrics, startTracing } from './telemetry/exporters.js'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Starts the server. The returned service stops it after requests in flight have finished. `env` is the source of the configuration;
 * variables without an effect are named in the log. `loaded` is called when nothing more is loaded in advance.
 */
export async function serve(
  config: AuthConfig,
  env: Environment,
  loaded: () => void = () => undefined,
): Promise<Service> {
  const log = createAuthLogger(config)
  const tracing = await startTracing(config, log)
  const context = await createContext(config, { log, ...(tracing ? { tracing } : {}) })
  let metrics: Awaited<ReturnType<typeof startMetrics>>
  // In parallel: each exporter may take seconds if its collector is down.
  const flush = () => Promise.all([metrics?.close(), tracing?.close()])
  const open: (() => Promise<unknown>)[] = [() => context.close(), flush]
  const close = async () => {
    for (const end of open.splice(0).reverse()) await end()
  }
  try {
    warnAboutSettings(context, env)
    // Creates keys for the first request and the first reader of the JWK Set. Without a database, that happens later.
    await context.clock
      .adjust()
      .then(() => context.keys.forSigning())
      .catch(() => undefined)
    metrics = await startMetrics(config, context.registry, log)
    // Closed after the listener, so that the messages of the last requests are still sent.
    open.push(followClock(context))
    const listener = await listen(createApp(context), {
      port: config.apiPort,
      host: config.apiHost,
      settings: { port: 'AUTH_API_PORT or PORT', host: 'AUTH_API_HOST' },
      drain: context.drain,
    })
    const stopCleanup = config.dbCleanupEnabled ? context.cleanup.start() : undefined
    // In parallel, so that neither the requests nor the clean-up's batch use up the other's time to finish.
    open.push(() => Promise.all([listener.close(), stopCleanup?.()]))
    context.observer.started(listener.port)
    // Runs alongside the first requests, so that starts stay short. If something fails here, it fails again for the first email, which
    // reports it.
    void context
      .prepare()
      .catch(() => undefined)
      .finally(loaded)
    return { drain: context.drain, close }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Starts sending messages as soon as the time is known. By a wrong clock, all waiting messages might be too old to send. Returns a function
 * that stops it.
 */
function followClock({ clock, outboxSender }: AuthContext): () => Promise<unknown> {
  let stopSender: (() => Promise<unknown>) | undefined
  const readings = new Periodic({
    everyMs: CLOCK_INTERVAL_MS,
    async run(stopping) {
      await clock.adjust()
      if (!stopping.aborted) stopSender ??= outboxSender.start()
    },
    // Ignore errors: the clock keeps its last offset, and readiness reports the database.
    onError: () => undefined,
  })
  readings.start()
  return async () => {
    await readings.stop()
    await stopSender?.()
  }
}

/** Settings that are probably mistakes. None of them keeps the service from starting. */
function warnAboutSettings({ config, observer }: AuthContext, env: Environment): void {
  for (const name of unsupportedVariables(env)) observer.unsupportedVariable(name)
  for (const name of strayRedirectUris(config)) observer.strayRedirectUri(name)
  const sendsCodes = config.phoneEnabled || config.mfaPhoneEnrollEnabled
  if (sendsCodes && smsConfig(config, '').gateway === undefined) observer.smsUnavailable()
}
