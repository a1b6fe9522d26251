import { randomBytes } from 'node:crypto'
import type { Db } from '@signet/db'
import { createLogger } from '@signet/telemetry'
import { testRedis, waitFor } from '@signet/testkit'
import { createContext, type Context, type Ports } from '../../src/context.js'
import { readConfig } from '../../src/config/read-config.js'
import { webhooksDatabase } from '@signet/webhook-testkit'
import type { DispatchOutcome } from '../../src/dispatching/dispatch-service.js'
import type { EventId } from '@signet/webhook-core'
import { Subscriber } from './subscriber.js'

export type TestDispatcher = Context & {
  /** Environment for another dispatcher with the same database and queues. */
  env: Record<string, string>
  logLines: Record<string, unknown>[]
  subscriber(): Subscriber
  stop(): Promise<void>
}

export type DispatcherOptions = { env?: Record<string, string>; ports?: Partial<Ports>; start?: boolean }

/** Starts a dispatcher with its own database and queues, in this process. */
export async function startDispatcher({
  env = {},
  ports = {},
  start = true,
}: DispatcherOptions = {}): Promise<TestDispatcher> {
  const database = await webhooksDatabase()
  const redis = testRedis()
  const dispatcher = startAnother(
    {
      NODE_ENV: 'test',
      WEBHOOKS_DATABASE_URL: database.url,
      WEBHOOKS_REDIS_URL: redis.url,
      WEBHOOKS_QUEUE_PREFIX: redis.prefix,
      WEBHOOKS_SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
      WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
      DISPATCHER_PORT: '0',
      // The longest that the settings allow: receivers answer when a test says so, which may take a while on a busy machine.
      DISPATCHER_TIMEOUT_MS: '8000',
      ...env,
    },
    ports,
    start,
  )
  // A test may publish right away, so the connection must stand first. A test that names another Redis may never get a connection.
  if (env['WEBHOOKS_REDIS_URL'] === undefined) await waitFor(() => dispatcher.queues.isConnected)
  return {
    ...dispatcher,
    async stop() {
      await dispatcher.stop()
      await database.drop()
    },
  }
}

/** Starts another dispatcher with the database and queues that `env` names. */
export function startAnother(
  env: Record<string, string>,
  ports: Partial<Ports> = {},
  start = true,
): TestDispatcher {
  const logLines: Record<string, unknown>[] = []
  const log = createLogger({
    level: 'debug',
    component: 'dispatcher',
    sink: (line) => logLines.push(JSON.parse(line) as Record<string, unknown>),
  })
  const context = createContext(readConfig(env), { log, ...ports })
  if (start) context.engine.start()
  return {
    ...context,
    env,
    logLines,
    subscriber: () =>
      new Subscriber({ db: context.db, secretBox: context.config.secretBox, queues: context.queues }),
    async stop() {
      await context.engine.stop()
      await context.close()
    },
  }
}

/** Dispatches an event as its job does, and leaves the first attempts to the test. */
export async function dispatchEvent(
  { dispatch, preparation }: Pick<Context, 'dispatch' | 'preparation'>,
  id: EventId,
  { wasLost }: { wasLost?: boolean } = {},
): Promise<DispatchOutcome> {
  const item = { id, accountId: 'any', wasLost }
  const { unprepared, ...dispatched } = await dispatch.run(item)
  if (!unprepared) return dispatched
  const outcome = await preparation.run(unprepared, {}, (prepared) => dispatch.run({ ...item, prepared }))
  if ('deferMs' in outcome) throw new Error('no room for the conversion')
  return outcome
}

/** Dispatches an event with rows for all its deliveries at once, as after a worker of this event was lost. */
export const dispatchInRows = (dispatcher: Pick<Context, 'dispatch' | 'preparation'>, id: EventId) =>
  dispatchEvent(dispatcher, id, { wasLost: true })

export type DeliveryRow = {
  id: string
  endpoint_id: string
  event_id: string
  status: number
  attempts: number
  last_error: string
  next_attempt_at: Date | null
  delivered_at: Date | null
}

export async function deliveriesOf(db: Db, accountId: string): Promise<DeliveryRow[]> {
  const { rows } = await db.query<DeliveryRow>(
    `select d.id, d.endpoint_id, d.event_id, d.status, d.attempts, d.last_error, d.next_attempt_at, d.delivered_at
     from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
     where e.account_id = $1 order by d.id`,
    [accountId],
  )
  return rows
}
