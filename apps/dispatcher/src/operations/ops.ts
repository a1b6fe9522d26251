import { Db, SharedClock } from '@signet/db'
import pTimeout from 'p-timeout'
import type { DeliveryId } from '@signet/webhook-core'
import { connectRedis, redisSettings } from '@signet/redis'
import { WebhookQueues } from '@signet/webhook-core/queue'
import type { ReplayTarget } from './replay-store.js'
import type { DispatcherConfig } from '../config/config.js'
import { JobPresence } from '../queues/job-presence.js'
import { Operations, type Author } from './operations.js'
import { parseOps, timeOf, USAGE, type OpsCommand, type RequeueTarget } from './ops-arguments.js'
import { exitCode, OpsError } from './ops-error.js'
import {
  accountReport,
  deliveryReport,
  disabledReport,
  endpointState,
  previewReport,
  statusReport,
  type Report,
} from './ops-report.js'

export type OpsTerminal = {
  argv: readonly string[]
  env: Readonly<Record<string, string | undefined>>
  out: (text: string) => void
  err: (text: string) => void
}

/** Runs one operator command against the dispatchers' database and queues. Returns the exit code. */
export async function ops(
  readConfig: () => DispatcherConfig | Promise<DispatcherConfig>,
  terminal: OpsTerminal,
): Promise<number> {
  const { argv, env, out, err } = terminal
  try {
    const { command, json } = parseOps(argv, env)
    if (command.name === 'help') {
      out(USAGE)
      return exitCode.done
    }
    const readOnly = command.name === 'status' || command.name === 'account'
    const report = await withOperations(await readConfig(), { readOnly }, (operations, now) =>
      run(operations, command, now),
    )
    out(json ? JSON.stringify(report.json) : report.text)
    return report.exitCode ?? exitCode.done
  } catch (error) {
    err(error instanceof Error ? error.message : String(error))
    if (!(error instanceof OpsError)) return exitCode.failed
    if (error.exitCode === exitCode.usage) err('Run `ops --help` for usage.')
    return error.exitCode
  }
}

/**
 * Gives the work the time by the database's clock: that of this machine may be wrong. `readOnly`: starts as soon as the database
 * responds, and the operation itself waits for Redis.
 */
async function withOperations<T>(
  config: DispatcherConfig,
  { readOnly }: { readOnly: boolean },
  work: (operations: Operations, now: Date) => Promise<T>,
) {
  const db = new Db({
    connectionString: config.databaseUrl,
    applicationName: 'signet-dispatcher-ops',
    max: 5,
    statementTimeoutMs: 60_000,
  })
  const redis = connectRedis(redisSettings(config), 'request')
  redis.on('error', () => undefined) // each command reports what it could not do
  const queues = new WebhookQueues({ connection: redis, prefix: config.queuePrefix })
  try {
    const redisReady = ready(redis, { firstTryOnly: readOnly })
    if (!readOnly) await redisReady
    const clock = new SharedClock(db)
    await clock.adjust()
    const operations = new Operations({
      db,
      queues,
      presence: new JobPresence(redis, queues),
      redisReady,
      secretBox: config.secretBox,
      now: clock.now,
    })
    return await work(operations, clock.now())
  } finally {
    if (queues.isConnected) await queues.close()
    redis.disconnect()
    await db.close()
  }
}

const CONNECT_MS = 2000

/**
 * Waits for the connection, up to a limit: most commands are useful without Redis. `firstTryOnly`: stops waiting after the first
 * failed attempt.
 */
async function ready(
  redis: ReturnType<typeof connectRedis>,
  { firstTryOnly }: { firstTryOnly: boolean },
): Promise<void> {
  if (redis.status === 'ready') return
  const settled = new Promise<void>((resolve) => {
    redis.once('ready', () => resolve())
    if (firstTryOnly) redis.once('close', () => resolve())
  })
  await pTimeout(settled, { milliseconds: CONNECT_MS, message: false })
}

async function run(
  operations: Operations,
  command: Exclude<OpsCommand, { name: 'help' }>,
  now: Date,
): Promise<Report> {
  switch (command.name) {
    case 'status':
      return statusReport(await operations.status())
    case 'pause':
    case 'resume':
      return flip(operations, command.name === 'pause', command.author)
    case 'reseal': {
      const resealed = await operations.reseal(command.author)
      return { text: `Re-encrypted ${resealed} secrets with the first key.`, json: { resealed } }
    }
    case 'drain':
      return drain(operations, command.author, command.timeoutMs)
    case 'requeue': {
      const target = replayTarget(command.target, now)
      return command.dryRun ? preview(operations, target) : requeue(operations, target, command.author)
    }
    case 'inspect': {
      const found = await operations.inspect(command.deliveryId)
      if (!found) throw unknown(command.deliveryId)
      return deliveryReport(found)
    }
    case 'account':
      return accountReport(await operations.account(command.accountId), now)
    case 'disabled':
      return disabledReport(await operations.disabled(timeOf(command.since, now), LIST_LIMIT))
    case 'enable': {
      const { endpointId, author } = command
      if (await operations.enable(endpointId, author))
        return {
          text: `Endpoint ${endpointId} is enabled.`,
          json: { endpoint_id: endpointId, enabled: true },
        }
      throw new OpsError(exitCode.nothing, `Endpoint ${endpointId} is unknown, deleted or not disabled.`)
    }
  }
}

async function flip(operations: Operations, paused: boolean, author: Author): Promise<Report> {
  const applied = await (paused ? operations.pause(author) : operations.resume(author))
  const text = paused
    ? 'Paused: no new work starts. Events are still accepted and stored.'
    : 'Deliveries resumed.'
  const later = ' Redis could not be updated; the dispatchers follow once it is available.'
  return { text: applied ? text : text + later, json: { paused, applied } }
}

async function drain(operations: Operations, author: Author, timeoutMs: number): Promise<Report> {
  const applied = await operations.pause(author)
  const active = applied ? await operations.drained(timeoutMs) : null
  if (active === 0)
    return {
      text: 'Drained: nothing is in flight, and nothing starts until `ops resume`.',
      json: { paused: true, active },
    }
  throw active === null
    ? new OpsError(
        exitCode.failed,
        'Paused, but Redis is unavailable, so the number of jobs in flight is unknown.',
      )
    : new OpsError(
        exitCode.timeout,
        `Paused, but ${active} jobs are still in flight. Run drain again to keep waiting.`,
      )
}

const replayTarget = (target: RequeueTarget, now: Date): ReplayTarget =>
  'deliveryId' in target ? target : { endpointId: target.endpointId, failedSince: timeOf(target.since, now) }

const LIST_LIMIT = 10_000

async function preview(operations: Operations, target: ReplayTarget): Promise<Report> {
  const found = await operations.preview(target, LIST_LIMIT)
  if (found.length === 0) throw await nothingToSend(operations, target)
  return previewReport(found, LIST_LIMIT)
}

async function requeue(operations: Operations, target: ReplayTarget, author: Author): Promise<Report> {
  const { deliveries, unqueued } = await operations.requeue(target, author)
  if (deliveries.length === 0) throw await nothingToSend(operations, target)
  const [first] = deliveries
  const text =
    deliveries.length === 1
      ? `Created delivery ${first}.`
      : `Created ${deliveries.length} deliveries, ${first} to ${deliveries.at(-1)}.`
  const later = ' Redis could not be updated; the sweeper queues them once it is available.'
  return { text: unqueued ? text + later : text, json: { deliveries, queued: !unqueued } }
}

async function nothingToSend(operations: Operations, target: ReplayTarget): Promise<OpsError> {
  if ('endpointId' in target)
    return new OpsError(
      exitCode.nothing,
      `Nothing to send again: endpoint ${target.endpointId} is unknown, deleted or disabled, or has no undelivered failures since ${target.failedSince.toISOString()}.`,
    )
  const found = await operations.inspect(target.deliveryId)
  if (!found) return unknown(target.deliveryId)
  const { delivery } = found
  const newer = delivery.others.find(
    ({ replay, status }) => status === 0 || (status === 1 && replay > delivery.replay),
  )
  const reason =
    delivery.status === 0
      ? 'it is still pending'
      : newer
        ? `delivery ${newer.id} of the same event is ${newer.status === 0 ? 'pending' : 'delivered'}`
        : delivery.event.bytes === 0
          ? 'the body of its event is gone'
          : `its endpoint is ${endpointState(delivery)}`
  return new OpsError(exitCode.nothing, `Delivery ${target.deliveryId} was not sent again: ${reason}.`)
}

const unknown = (id: DeliveryId) => new OpsError(exitCode.nothing, `There is no delivery ${id}.`)
