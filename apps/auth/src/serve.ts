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
 * Starts the server; the returned service stops it after requests in flight have finished. `env` is what the configuration was
 * read from: variables without an effect are named in the log. `loaded` is called when nothing more is loaded in advance.
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
    // So that the first request and the first reader of the JWK Set find a key. Without a database, that happens
    // later.
    await context.clock
      .adjust()
      .then(() => context.keys.forSigning())
      .catch(() => undefined)
    metrics = await startMetrics(config, context.registry, log)
    // Closed after the listener, so that messages of the last requests still go out.
    open.push(followClock(context))
    const listener = await listen(createApp(context), {
      port: config.apiPort,
      host: config.apiHost,
      settings: { port: 'AUTH_API_PORT or PORT', host: 'AUTH_API_HOST' },
      drain: context.drain,
    })
    const stopCleanup = config.dbCleanupEnabled ? context.cleanup.start() : undefined
    // In parallel: neither requests nor a batch of the clean-up may use up the other's time to finish.
    open.push(() => Promise.all([listener.close(), stopCleanup?.()]))
    context.observer.started(listener.port)
    // Beside the first requests, so that starts stay short. What fails here fails again for the first email, which reports it.
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

/** Sends messages as soon as the time is known: by a wrong clock, all that wait may be too old to be sent. Returns how to stop. */
function followClock({ clock, outboxSender }: AuthContext): () => Promise<unknown> {
  let stopSender: (() => Promise<unknown>) | undefined
  const readings = new Periodic({
    everyMs: CLOCK_INTERVAL_MS,
    async run(stopping) {
      await clock.adjust()
      if (!stopping.aborted) stopSender ??= outboxSender.start()
    },
    // The clock keeps its last offset, and readiness reports the database.
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
