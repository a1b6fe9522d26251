import { randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDatabase, leasePort } from '@signet/local'
import { Db } from '@signet/db'
import { definitionOf, newEventId, SecretBox } from '@signet/webhook-core'
import { connectRedis } from '@signet/redis'
import { type EventToPublish, WebhookQueues } from '@signet/webhook-core/queue'
import { recordDecision } from '../src/operations/operator-store.js'
import { untilAnswers } from '@signet/testkit/bench'
import { migrateWebhooks } from '@signet/webhook-testkit'
import { Subscriber } from '../test/support/subscriber.js'

export type Pipeline = {
  db: Db
  /** Opens a pool with the same settings as the dispatcher's. */
  openDb(): Db
  queues: WebhookQueues
  secretBox: SecretBox
  pid: number
  /** Makes accounts with their endpoints; `paths` decide where each endpoint points. */
  subscribers(paths: readonly string[]): Promise<Subscriber[]>
  /** Commits and publishes events as the API does, with bodies of about `bytes`, while the dispatcher is paused. */
  prepare(subscribers: readonly Subscriber[], events: number, bytes: number): Promise<void>
  /** Lets the dispatcher work. */
  release(): Promise<void>
  /** Resolves when every result is committed. */
  untilDone(): Promise<void>
  stop(): Promise<void>
}

export type PipelineOptions = {
  databaseUrl: string
  redisUrl: string
  receiverUrl: (path: string) => string
  caFile: string
  /** Folder for a CPU profile of the dispatcher. */
  profileFolder?: string
}

/** The quota of an account: the largest fan-out of one event. */
export const ENDPOINTS_PER_ACCOUNT = 5
/** How many small events the API commits and publishes together when it is busy. Large ones have a commit of their own. */
const COMMIT_EVENTS = 16
const LARGE_BYTES = 256 * 1024
/** The same flags as in the Dockerfile. */
const FLAGS = ['--max-semi-space-size=32']
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url))

/** Starts the built dispatcher as a process with its own database and queues. */
export async function startPipeline(name: string, options: PipelineOptions): Promise<Pipeline> {
  const database = `bench_${name}_${randomBytes(4).toString('hex')}`
  await createDatabase(options.databaseUrl, database)
  const url = new URL(options.databaseUrl)
  url.pathname = `/${database}`
  await migrateWebhooks(url.href)
  const secretKeys = `bench:${randomBytes(32).toString('base64')}`
  const prefix = `{${database}}`
  // The dispatcher cannot report a free port that it picked: writing its log would take time under load.
  const port = await leasePort()
  const { profileFolder } = options
  const profile = profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : []
  const child = spawn(process.execPath, [...FLAGS, ...profile, MAIN, 'serve'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      NODE_EXTRA_CA_CERTS: options.caFile,
      WEBHOOKS_DATABASE_URL: url.href,
      WEBHOOKS_REDIS_URL: options.redisUrl,
      WEBHOOKS_QUEUE_PREFIX: prefix,
      WEBHOOKS_SECRET_KEYS: secretKeys,
      WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
      DISPATCHER_HOST: '127.0.0.1',
      DISPATCHER_PORT: String(port),
    },
  })
  const db = new Db({ connectionString: url.href, max: 20 })
  const connection = connectRedis({ url: options.redisUrl }, 'worker')
  const queues = new WebhookQueues({ connection, prefix })
  const secretBox = SecretBox.parse(secretKeys)
  await untilAnswers(`http://127.0.0.1:${port}/readyz`, child)

  const isBusy = async () => {
    const { rows } = await db.query<{ busy: boolean }>(
      `select exists (select from webhook_queued_events)
         or exists (select from webhook_pending_deliveries) as busy`,
    )
    return rows[0]?.busy === true
  }

  // Pauses as an operator does, because the sweeper undoes a pause that is only a flag in Redis.
  const pause = async (paused: boolean) => {
    await recordDecision(db, paused ? 'pause' : 'resume', { operator: 'bench', reason: 'a round' })
    await (paused ? queues.pause() : queues.resume())
  }

  return {
    db,
    openDb: () => new Db({ connectionString: url.href, max: 10, preferIndexes: true, planOnce: true }),
    queues,
    secretBox,
    pid: child.pid ?? 0,
    async subscribers(paths) {
      const made: Subscriber[] = []
      for (let from = 0; from < paths.length; from += ENDPOINTS_PER_ACCOUNT) {
        const subscriber = new Subscriber({ db, secretBox, queues })
        for (const path of paths.slice(from, from + ENDPOINTS_PER_ACCOUNT))
          await subscriber.endpoint(options.receiverUrl(path))
        made.push(subscriber)
      }
      return made
    },
    async prepare(subscribers, events, bytes) {
      await pause(true)
      const text = randomBytes(bytes)
        .toString('base64')
        .slice(0, Math.max(1, bytes - 330))
      let next = 0
      const worker = async () => {
        while (next < events) {
          const together = bytes > LARGE_BYTES ? 1 : COMMIT_EVENTS
          const numbers = Array.from({ length: Math.min(together, events - next) }, () => next++)
          const published: EventToPublish[] = []
          for (const number of numbers) {
            const subscriber = subscribers[number % subscribers.length]
            if (subscriber) published.push(await commitEvent(subscriber, text))
          }
          await queues.addEvents(published)
        }
      }
      await Promise.all(Array.from({ length: 10 }, worker))
    },
    release: () => pause(false),
    async untilDone() {
      while (await isBusy()) await sleep(5)
    },
    async stop() {
      child.kill('SIGTERM')
      await once(child, 'exit')
      await queues.close()
      connection.disconnect()
      await db.close()
    },
  }
}

/** An event as the API leaves it whose notice had every part: with its body, and not yet published. */
async function commitEvent(subscriber: Subscriber, text: string): Promise<EventToPublish> {
  const eventId = newEventId(new Date())
  const audioId = `rec_${eventId}`
  const body = definitionOf('summary.completed').build(
    { id: eventId, createdAt: new Date() },
    { audioId, recording: { title: 'Weekly sync' }, transcript: { text }, summaries: [] },
  )
  await subscriber.withoutQueues().summary({ eventId, audioId, body })
  return { id: eventId, accountId: subscriber.accountId, bytes: Buffer.byteLength(body) }
}
