import type { Resolver } from '@signet/address-guard'
import { databaseNow, SharedClock } from '@signet/db'
import { Drain } from '@signet/http'
import { createLogger, createRegistry, type Logger } from '@signet/telemetry'
import { RetrySchedule, type EventCatalogue, type EventId } from '@signet/webhook-core'
import { createLimiter } from '@signet/rate-limits'
import { connectRedis, redisSettings } from '@signet/redis'
import { WebhookQueues } from '@signet/webhook-core/queue'
import type { RecordingReader } from '@signet/webhook-core/stores'
import { AdminService } from './admin/admin-service.js'
import { BacklogHistory } from './admin/backlog-history.js'
import { findBody } from './events/event-store.js'
import { AttemptService } from './attempts/attempt-service.js'
import { createAttemptWorker } from './attempts/attempt-worker.js'
import { BacklogCanceller } from './attempts/backlog-canceller.js'
import { BodyCache } from './attempts/body-cache.js'
import { DeferredJobs } from './attempts/deferred-jobs.js'
import { FirstAttempts } from './dispatching/first-attempts.js'
import { OpenSecrets } from './attempts/open-secrets.js'
import { DueDeliveries } from './attempts/due-deliveries.js'
import { LostRuns } from './attempts/lost-runs.js'
import { createSnapshotLoader } from './attempts/snapshot-loader.js'
import { ResultRecorder } from './attempts/result-recorder.js'
import { registerBacklogGauges } from './backlog-gauges.js'
import { ConversionScheduler, type Convert } from './preparing/conversion-scheduler.js'
import { PartsReader } from './preparing/parts-reader.js'
import { Preparation } from './preparing/preparation.js'
import { MarkdownConverter } from './markdown/markdown-converter.js'
import { EventLimiter } from './dispatching/event-limiter.js'
import { EventService } from './dispatching/event-service.js'
import type { DispatcherConfig } from './config/config.js'
import { createPools } from './database/pools.js'
import { retryWhileUnavailable, type RetryWhileUnavailable } from './database/retry-while-unavailable.js'
import { DispatchService } from './dispatching/dispatch-service.js'
import { createDispatchWorker } from './dispatching/dispatch-worker.js'
import { AdmissionWindow } from './dispatching/admission-window.js'
import { Engine } from './engine.js'
import { createObserver } from './observers/observer.js'
import { EndpointLimiter } from './fairness/endpoint-limiter.js'
import { Operations } from './operations/operations.js'
import { PauseSwitch } from './operations/pause-switch.js'
import { JobPresence } from './queues/job-presence.js'
import { RedisWatch } from './queues/redis-watch.js'
import { createAgent } from './sending/agent.js'
import { post } from './sending/http-sender.js'
import { Recoverer } from './recovering/recoverer.js'
import { Retention } from './retention/retention.js'
import { Sweeper } from './sweeping/sweeper.js'
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
  /** Certificate authorities of receivers in tests, instead of Node's. */
  ca: string
}

/**
 * Jobs to take for each attempt in flight: while one is sent, others are read, recorded or completed. With only one each,
 * those steps would leave permits unused, and their batches would be small.
 */
const JOBS_PER_ATTEMPT = 3
/**
 * Events are ids until they are admitted. An account whose receivers hang may publish 50 a second: all fit until their attempts time
 * out, and the process still takes events of others from the queue.
 */
const EVENTS_PER_ATTEMPT = 9

export type Context = ReturnType<typeof createContext>

/** The composition root: the only place that opens connections. Nothing runs before `engine.start()`. */
export function createContext(config: DispatcherConfig, ports: Partial<Ports> = {}) {
  const log = ports.log ?? createLogger({ level: config.logLevel, component })
  const registry = createRegistry({ runtime: config.nodeEnv !== 'test' })
  const observer = createObserver(log, registry)
  const stopRetries = new AbortController()
  const retryOptions = {
    stop: stopRetries.signal,
    onRetry: (error: unknown, tries: number) => observer.databaseUnavailable(error, tries),
  }
  const retry: RetryWhileUnavailable = (work) => retryWhileUnavailable(work, retryOptions)

  const pools = createPools(config.databaseUrl, (error) => observer.databaseUnavailable(error, 1))
  const { db } = pools
  const clock = new SharedClock(db)
  const now = ports.now ?? clock.now
  const redis = redisSettings(config)
  const workerRedis = connectRedis(redis, 'worker')
  const producerRedis = connectRedis(redis, 'request')
  const queues = new WebhookQueues({ connection: producerRedis, prefix: config.queuePrefix })
  registerBacklogGauges({ db, queues, registry, now })
  const queue = { connection: workerRedis, prefix: config.queuePrefix }

  const agent = createAgent(config, ports)
  const limiter = new EndpointLimiter({
    concurrency: config.concurrency,
    perEndpoint: config.endpointConcurrency,
  })
  const bodies = new BodyCache({
    maxBytes: config.bodyCacheMib * 1024 * 1024,
    load: (id, maxBytes) => findBody(db, id as EventId, maxBytes),
    seen: (result) => observer.bodyRead(result),
  })
  const canceller = new BacklogCanceller({ db, retryWhileUnavailable: retry, observer })
  const recorder = new ResultRecorder({
    db: pools.results,
    dbApart: pools.apart,
    retryWhileUnavailable: retry,
    // A request whose result is not recorded would be sent again and again, without ever using up an attempt.
    retryTimeouts: (work) => retryWhileUnavailable(work, { stop: stopRetries.signal, retryTimeouts: true }),
    onCommit: (size, durationMs) => observer.committed(size, durationMs),
    onTimeout: (size, error) => observer.commitTimedOut(size, error),
    onDisabled: (endpointId) => canceller.request(endpointId),
  })
  const findSnapshot = createSnapshotLoader(db, retry)
  const schedule = new RetrySchedule({ delaysSeconds: config.retryDelaysSeconds, random: ports.random })
  const due = new DueDeliveries({ db, findSnapshot, retryWhileUnavailable: retry, observer, now })
  const lostRuns = new LostRuns({ due, findSnapshot, recorder, schedule, observer, now })
  const deferredJobs = new DeferredJobs({ db, queues, limiter, now })
  const attempts = new AttemptService({
    due,
    lostRuns,
    limiter,
    deferredJobs,
    bodies,
    recorder,
    retryWhileUnavailable: retry,
    observer,
    now,
    secrets: new OpenSecrets(config.secretBox),
    schedule,
    send: (request) => post(agent, request, config.timeoutMs),
  })
  const markdown = new MarkdownConverter()
  const dispatch = new DispatchService({ db, bodies, retryWhileUnavailable: retry, observer, now })
  const jobConcurrency = JOBS_PER_ATTEMPT * config.concurrency
  const conversions = new ConversionScheduler({
    jobs: jobConcurrency,
    convert: ports.convert ?? ((html, cpuLimitMs) => markdown.convert(html, cpuLimitMs)),
  })
  const preparation = new Preparation({
    parts: new PartsReader({
      db: pools.recordings,
      events: db,
      retryWhileUnavailable: retry,
      onProblem: (problem) => observer.enrichmentFailed(problem),
      reader: ports.reader,
    }),
    conversions,
    catalogue: ports.catalogue,
  })
  const firstAttempts = new FirstAttempts({
    db,
    attempts,
    lostRuns,
    queues,
    bodies,
    retryWhileUnavailable: retry,
    now,
  })
  const presence = new JobPresence(producerRedis, queues)
  const pauseSwitch = new PauseSwitch(db, queues)
  const sweeper = new Sweeper({
    db,
    queues,
    presence,
    canceller,
    pauseSwitch,
    onStray: (name) => workers[name].lookForStrays(),
    observer,
    now,
  })
  const eventConcurrency = EVENTS_PER_ATTEMPT * config.concurrency
  const events = new EventService({
    limiter: new EventLimiter({ capacity: eventConcurrency }),
    admissionWindow: new AdmissionWindow({ min: config.concurrency, max: jobConcurrency }),
    dispatch,
    preparation,
    firstAttempts,
  })
  const recoverer = new Recoverer({ db, queues, observer, databaseNow })
  const redisWatch = new RedisWatch({
    connection: producerRedis,
    key: `${config.queuePrefix}:marker`,
    now,
    onRecovered: (outage) => {
      if (outage.wasEmptied) observer.redisEmptied()
      sweeper.redisRecovered(outage)
    },
  })
  const retention = new Retention({ db, observer, databaseNow })
  const ofBoth = { queue, observer, applyPause: () => pauseSwitch.apply() }
  const workers = {
    events: createDispatchWorker({ ...ofBoth, concurrency: eventConcurrency, events, queues }),
    deliveries: createAttemptWorker({ ...ofBoth, concurrency: jobConcurrency, attempts }),
  }
  const engine = new Engine({
    workers: Object.values(workers),
    limiter,
    deferredJobs,
    clock,
    sweeper,
    retention,
    recoverer,
    redisWatch,
    firstAttempts,
    canceller,
    stopRetries,
    onError: (error) => log.error('engine', { error }),
    onUnavailable: (error, tries) => observer.databaseUnavailable(error, tries),
  })
  const history = new BacklogHistory({ db: pools.admin, registry, now })
  const admin = new AdminService({
    db: pools.admin,
    history,
    now,
    operations: new Operations({
      db: pools.admin,
      queues,
      presence,
      redisReady: Promise.resolve(),
      secretBox: config.secretBox,
      now,
    }),
  })
  producerRedis.on('ready', () => observer.redisConnected())

  return {
    config,
    log,
    db,
    registry,
    queues,
    limiter,
    deferredJobs,
    bodies,
    attempts,
    dispatch,
    conversions,
    preparation,
    events,
    firstAttempts,
    canceller,
    sweeper,
    retention,
    recoverer,
    redisWatch,
    engine,
    admin,
    /** Limits wrong operator tokens. */
    operatorLimiter: createLimiter({ prefix: `${config.queuePrefix}:limit`, redis: producerRedis, now }),
    history,
    observer,
    now,
    isRedisReady: () => producerRedis.ping(),
    /** Only operators send requests here, so there is no load balancer to wait for. */
    drain: new Drain(0),
    async close() {
      await history.stop()
      await agent.destroy()
      await queues.close()
      await markdown.close()
      workerRedis.disconnect()
      producerRedis.disconnect()
      await pools.close()
      await log.close()
    },
  }
}
