import type { Resolver } from '@signet/address-guard'
import { SharedClock } from '@signet/db'
import { Drain } from '@signet/http'
import { createLimiter } from '@signet/rate-limits'
import { connectRedis, redisSettings } from '@signet/redis'
import { createLogger, createRegistry, type Logger } from '@signet/telemetry'
import type { EventCatalogue } from '@signet/webhook-core'
import { WebhookQueues } from '@signet/webhook-core/queue'
import type { RecordingReader } from '@signet/webhook-core/stores'
import { registerBacklogGauges } from './backlog-gauges.js'
import type { DispatcherConfig } from './config/config.js'
import { createPools } from './database/pools.js'
import { retryWhileUnavailable } from './database/retry-while-unavailable.js'
import { Engine } from './engine.js'
import { MarkdownConverter } from './markdown/markdown-converter.js'
import { createObserver } from './observers/observer.js'
import { PauseSwitch } from './operations/pause-switch.js'
import type { Convert } from './preparing/conversion-scheduler.js'
import { JobPresence } from './queues/job-presence.js'
import { createConnections } from './sending/connections.js'
import { createAdministration } from './services/administration.js'
import { createAttempts } from './services/attempts.js'
import { createDispatching } from './services/dispatching.js'
import type { Parts } from './services/parts.js'
import { createUpkeep } from './services/upkeep.js'
import { createWorkers } from './services/workers.js'
import { component } from './version.js'

/** External dependencies that a test may replace. Everything else is built from them. */
export type Ports = {
  log: Logger
  now: () => Date
  random: () => number
  resolver: Resolver
  /** Reads the parts of recordings. */
  reader: RecordingReader
  /** Converts HTML, in threads. */
  convert: Convert
  /** Definitions of event types, for bodies that are built here. */
  catalogue: EventCatalogue
  /** How old a snapshot of an endpoint may be when a request is sent, in milliseconds. */
  freshMs: number
  /** Certificate authorities of receivers in tests, instead of Node's. */
  ca: string
}

export type Context = ReturnType<typeof createContext>

/**
 * The composition root: the only place that opens connections; with the folder `services`, the only one that creates services. Nothing
 * runs before `engine.start()`.
 */
export function createContext(config: DispatcherConfig, ports: Partial<Ports> = {}) {
  const log = ports.log ?? createLogger({ level: config.logLevel, component })
  const registry = createRegistry({ runtime: config.nodeEnv !== 'test' })
  const observer = createObserver(log, registry)
  const onUnavailable = (error: unknown, tries: number) => observer.databaseUnavailable(error, tries)

  const pools = createPools(config.databaseUrl, (error) => onUnavailable(error, 1))
  const { db } = pools
  const clock = new SharedClock(db)
  const now = ports.now ?? clock.now
  const redis = redisSettings(config)
  const workerRedis = connectRedis(redis, 'worker')
  const producerRedis = connectRedis(redis, 'request')
  producerRedis.on('ready', () => observer.redisConnected())
  const queues = new WebhookQueues({ connection: producerRedis, prefix: config.queuePrefix })
  registerBacklogGauges({ db, queues, registry, now })
  const connections = createConnections(config, {
    ...ports,
    onProxyFailed: (error) => observer.proxyFailed(error),
  })
  const markdown = new MarkdownConverter()
  const convert: Convert = ports.convert ?? ((html, cpuLimitMs) => markdown.convert(html, cpuLimitMs))

  const stopRetries = new AbortController()
  const retryOptions = { stop: stopRetries.signal, onRetry: onUnavailable }
  const parts: Parts = {
    config,
    pools,
    queues,
    presence: new JobPresence(producerRedis, queues),
    registry,
    observer,
    retryWhileUnavailable: (work) => retryWhileUnavailable(work, retryOptions),
    retriesStopped: stopRetries.signal,
    now,
  }
  const pauseSwitch = new PauseSwitch(db, queues)
  const attempts = createAttempts(parts, { connections, random: ports.random, freshMs: ports.freshMs })
  const dispatching = createDispatching(parts, attempts, { ...ports, convert })
  const workers = createWorkers(
    parts,
    { ...dispatching, ...attempts },
    { connection: workerRedis, pauseSwitch },
  )
  const { canceller } = attempts
  const upkeep = createUpkeep(parts, { connection: producerRedis, canceller, pauseSwitch, workers })
  const administration = createAdministration(parts)
  const engine = new Engine({
    ...attempts,
    ...dispatching,
    ...upkeep,
    workers: Object.values(workers),
    clock,
    stopRetries,
    onError: (error) => log.error('engine', { error }),
    onUnavailable,
  })

  return {
    ...attempts,
    ...dispatching,
    ...upkeep,
    ...administration,
    config,
    log,
    db,
    registry,
    queues,
    engine,
    /** Limits wrong operator tokens. */
    operatorLimiter: createLimiter({ prefix: `${config.queuePrefix}:limit`, redis: producerRedis, now }),
    observer,
    now,
    isRedisReady: () => producerRedis.ping(),
    /** Only operators send requests here, so there is no load balancer to wait for. */
    drain: new Drain(0),
    async close() {
      await administration.history.stop()
      await connections.destroy()
      await queues.close()
      await markdown.close()
      workerRedis.disconnect()
      producerRedis.disconnect()
      await pools.close()
      await log.close()
    },
  }
}
