import { Db } from '@signet/db'
import { createLogger, createRegistry, type Logger } from '@signet/telemetry'
import {
  AddressGuard,
  connectRedis,
  ENRICHMENT_TIMEOUT_MS,
  findBodies,
  guardedAgent,
  MarkdownConverter,
  RetrySchedule,
  WebhookQueues,
  type EventId,
  type MirrorReader,
  type Resolver,
} from '@signet/webhook-core'
import { ProxyAgent, type Dispatcher } from 'undici'
import { AttemptService } from './attempts/attempt-service.js'
import { createAttemptWorkers } from './attempts/attempt-worker.js'
import { BodyCache } from './attempts/body-cache.js'
import { FirstAttempts } from './attempts/first-attempts.js'
import { OpenSecrets } from './attempts/open-secrets.js'
import { createPlanLoader } from './attempts/plan-loader.js'
import { ResultRecorder } from './attempts/result-recorder.js'
import { registerBacklogGauges } from './backlog-gauges.js'
import { type DispatcherConfig } from './config.js'
import { withPatience } from './database/patience.js'
import { frozenBodies } from './dispatching/frozen-bodies.js'
import { DispatchService } from './dispatching/dispatch-service.js'
import { createDispatchWorkers } from './dispatching/dispatch-worker.js'
import { RoomInHand } from './dispatching/room-in-hand.js'
import { Engine } from './engine.js'
import { createEvents } from './events.js'
import { EndpointLanes } from './fairness/endpoint-lanes.js'
import { PauseSwitch } from './operations/pause-switch.js'
import { JobPresence } from './queues/job-presence.js'
import { post } from './sending/http-sender.js'
import { Retention } from './retention/retention.js'
import { Sweeper } from './sweeping/sweeper.js'

/** Outside things that a test may replace; all else is made from them. */
export type Ports = {
  log: Logger
  now: () => Date
  random: () => number
  resolver: Resolver
  /** Source of the recordings' parts. */
  reader: MirrorReader
  /** Certificate authorities of receivers in tests, instead of Node's. */
  ca: string
}

/** So that a changed DNS answer takes effect (contract F.5). */
const CONNECTION_LIFE_MS = 60_000
/** Shorter than what common servers grant, so that we are rarely the one who writes into a connection just closed. */
const IDLE_MS = 4_000

/** One for each part of a batch, and as many for single recordings when a part could not be read for all. */
const MIRROR_CONNECTIONS = 6

/**
 * Jobs in hand for each attempt in flight: while one is on its way to its receiver others are read, recorded or taken leave
 * of. With one each, those steps would leave slots empty, and their batches would be small.
 */
const JOBS_PER_SLOT = 3

export type Context = ReturnType<typeof createContext>

/** The composition root: the only place that opens connections. Nothing works before `engine.start()`. */
export function createContext(config: DispatcherConfig, ports: Partial<Ports> = {}) {
  const log = ports.log ?? createLogger({ level: config.logLevel, component: 'dispatcher' })
  const now = ports.now ?? (() => new Date())
  const registry = createRegistry({ runtime: config.nodeEnv !== 'test' })
  const events = createEvents(log, registry)
  const giveUp = new AbortController()
  const patience = {
    stop: giveUp.signal,
    onWait: (error: unknown, tries: number) => events.waitingForDatabase(error, tries),
  }
  const patiently = <T>(work: () => Promise<T>) => withPatience(work, patience)

  const db = new Db({
    connectionString: config.databaseUrl,
    applicationName: 'signet-dispatcher',
    max: 10,
    preferIndexes: true,
    planOnce: true,
    statementTimeoutMs: 30_000,
    onIdleError: (error) => events.waitingForDatabase(error, 1),
  })
  // Apart, so that PostgreSQL ends what enrichment gave up waiting for, and slow parts take no connection from results.
  const mirrorDb = new Db({
    connectionString: config.databaseUrl,
    applicationName: 'signet-dispatcher-enrichment',
    max: MIRROR_CONNECTIONS,
    preferIndexes: true,
    planOnce: true,
    statementTimeoutMs: ENRICHMENT_TIMEOUT_MS,
    onIdleError: (error) => events.waitingForDatabase(error, 1),
  })
  const redis = {
    url: config.redisUrl,
    sentinels: config.redisSentinels,
    clusterNodes: config.redisClusterNodes,
  }
  const workerRedis = connectRedis(redis, 'worker')
  const producerRedis = connectRedis(redis, 'producer')
  const queues = new WebhookQueues({ connection: producerRedis, prefix: config.queuePrefix })
  registerBacklogGauges({ db, queues, registry, now })
  const queue = { connection: workerRedis, prefix: config.queuePrefix }

  const agent = createAgent(config, ports)
  const lanes = new EndpointLanes({ slots: config.concurrency, perEndpoint: config.endpointConcurrency })
  const bodies = new BodyCache(
    config.bodyCacheMib * 1024 * 1024,
    (id) => readBody(db, id as EventId),
    (result) => events.bodyRead(result),
  )
  const recorder = new ResultRecorder({
    db,
    // What was sent and is not recorded would be sent again, and again, without spending a try.
    patiently: (work) => withPatience(work, { ...patience, beyondTimeouts: true }),
    onCommit: (size, durationMs) => events.committed(size, durationMs),
  })
  const attempts = new AttemptService({
    db,
    lanes,
    bodies,
    recorder,
    patiently,
    events,
    now,
    findPlan: createPlanLoader(db, patiently),
    secrets: new OpenSecrets(config.secretBox),
    schedule: new RetrySchedule({ delaysSeconds: config.retryDelaysSeconds, random: ports.random }),
    send: (request) => post(agent, request, config.timeoutMs),
  })
  const markdown = new MarkdownConverter()
  const dispatch = new DispatchService({
    db,
    build: frozenBodies({
      db: mirrorDb,
      markdown,
      patiently,
      onProblem: (problem) => events.enrichmentFailed(problem),
      reader: ports.reader,
    }),
    bodies,
    patiently,
    events,
    now,
  })
  const firstAttempts = new FirstAttempts({ db, attempts, queues, patiently, now })
  const sweeper = new Sweeper({
    db,
    queues,
    presence: new JobPresence(producerRedis),
    pauseSwitch: new PauseSwitch(db, queues),
    events,
    now,
  })
  const jobsInHand = JOBS_PER_SLOT * config.concurrency
  const engine = new Engine({
    workers: [
      ...createDispatchWorkers({
        queue,
        jobsInHand,
        room: new RoomInHand({ least: config.concurrency, most: jobsInHand }),
        dispatch,
        firstAttempts,
        events,
      }),
      ...createAttemptWorkers({ queue, jobsInHand, attempts, events }),
    ],
    lanes,
    sweeper,
    retention: new Retention({ db, events, now }),
    firstAttempts,
    giveUp,
    onError: (error) => log.error('engine', { error }),
  })
  // Whatever Redis forgot while it was away is put back without waiting for the next sweep.
  let redisWasLost = false
  producerRedis.on('close', () => (redisWasLost = true))
  producerRedis.on('ready', () => {
    if (redisWasLost) sweeper.redisIsBack()
    redisWasLost = false
  })

  return {
    config,
    log,
    db,
    registry,
    queues,
    lanes,
    attempts,
    dispatch,
    firstAttempts,
    sweeper,
    engine,
    isRedisReady: () => producerRedis.ping(),
    async close() {
      await agent.destroy()
      await queues.close()
      await markdown.close()
      workerRedis.disconnect()
      producerRedis.disconnect()
      await mirrorDb.close()
      await db.close()
      await log.close()
    },
  }
}

function createAgent(config: DispatcherConfig, { resolver, ca }: Partial<Ports>): Dispatcher {
  // An egress proxy resolves and judges addresses itself (contract F.5).
  if (config.proxyUrl !== undefined)
    return new ProxyAgent({
      uri: config.proxyUrl,
      clientTtl: CONNECTION_LIFE_MS,
      requestTls: { ca, minVersion: 'TLSv1.2' },
    })
  const guard = new AddressGuard({ allowPrivateTargets: config.allowPrivateTargets, resolver })
  return guardedAgent({
    guard,
    ca,
    connectTimeoutMs: config.timeoutMs,
    maxConnectionLifeMs: CONNECTION_LIFE_MS,
    keepAliveMs: IDLE_MS,
  })
}

async function readBody(db: Db, id: EventId): Promise<Buffer | null> {
  const [event] = await findBodies(db, [id])
  return event ? Buffer.from(event.body) : null
}
