import { spawn, type ChildProcess } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { Db } from '@signet/db'
import { createDatabase, leasePort } from '@signet/local'
import { memoryMibOf } from '@signet/testkit'
import { untilAnswers } from '@signet/testkit/bench'
import type * as WebhookCore from '@signet/webhook-core'
import type * as Stores from '@signet/webhook-core/stores'

export type SystemOptions = {
  /** The checkout whose compiled apps run: this one, or another version. */
  root: string
  databaseUrl: string
  redisUrl: string
  receiverUrl: string
  caFile: string
  /** Folder for CPU profiles of both processes. */
  profileFolder?: string | undefined
}

/** apps/webhooks and apps/dispatcher as deployed, with their own database and queues. */
export type System = {
  ingestUrl: string
  token: string
  databaseUrl: string
  queuePrefix: string
  pids: { webhooks: number; dispatcher: number }
  /** Makes an account whose events go to this many endpoints. */
  account: (endpoints: number) => Promise<string>
  /** Starts another dispatcher beside those that run. */
  addDispatcher: () => Promise<void>
  /** How many attempts each dispatcher has made. */
  attempts: () => Promise<number[]>
  /** Resolves when every result is committed. */
  untilDone: () => Promise<void>
  memoryMib: () => { webhooks: number; dispatcher: number }
  stop: () => Promise<void>
}

/** The same flags as in the images. */
const FLAGS = {
  webhooks: ['--enable-source-maps', '--max-semi-space-size=8'],
  dispatcher: ['--enable-source-maps', '--max-semi-space-size=32'],
}
/** More than the API lets an account have. */
const MAX_ENDPOINTS = 1000

export async function startSystem(options: SystemOptions): Promise<System> {
  const database = `bench_way_${randomBytes(4).toString('hex')}`
  await createDatabase(options.databaseUrl, database)
  const url = new URL(options.databaseUrl)
  url.pathname = `/${database}`
  const token = randomBytes(24).toString('base64url')
  const secretKeys = `bench:${randomBytes(32).toString('base64')}`
  const queuePrefix = `{${database}}`
  // The servers cannot report free ports that they picked: writing their logs would take time under load.
  const [port, internalPort] = [await leasePort(), await leasePort()]
  const env = {
    PATH: process.env['PATH'],
    NODE_ENV: 'development',
    NODE_EXTRA_CA_CERTS: options.caFile,
    WEBHOOKS_DATABASE_URL: url.href,
    WEBHOOKS_REDIS_URL: options.redisUrl,
    WEBHOOKS_QUEUE_PREFIX: queuePrefix,
    WEBHOOKS_SECRET_KEYS: secretKeys,
    WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
    WEBHOOKS_BASE_URL: `http://127.0.0.1:${port}`,
    WEBHOOKS_IDENTITY_URL: 'http://127.0.0.1:9',
    WEBHOOKS_IDENTITY_JWT_SECRET: randomBytes(32).toString('hex'),
    WEBHOOKS_INTERNAL_TOKENS: `bench:${createHash('sha256').update(token).digest('hex')}`,
    WEBHOOKS_HOST: '127.0.0.1',
    WEBHOOKS_PORT: String(port),
    WEBHOOKS_INTERNAL_PORT: String(internalPort),
    DISPATCHER_HOST: '127.0.0.1',
  }
  const start = (app: 'webhooks' | 'dispatcher', command: string, more = {}): ChildProcess => {
    const { profileFolder } = options
    const profile =
      profileFolder && command === 'serve' ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : []
    const main = join(options.root, 'apps', app, 'dist/main.js')
    const child = spawn(process.execPath, [...FLAGS[app], ...profile, main, command], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...env, ...more },
    })
    const end = () => child.kill('SIGKILL')
    process.once('exit', end)
    child.once('exit', () => process.off('exit', end))
    return child
  }
  const [code] = (await once(start('webhooks', 'migrate'), 'exit')) as [number | null]
  if (code !== 0) throw new Error(`migrating ended with ${code}`)
  const dispatchers: { child: ChildProcess; url: string }[] = []
  const addDispatcher = async (): Promise<void> => {
    const dispatcherPort = String(await leasePort())
    const child = start('dispatcher', 'serve', { DISPATCHER_PORT: dispatcherPort })
    const dispatcher = { child, url: `http://127.0.0.1:${dispatcherPort}` }
    dispatchers.push(dispatcher)
    await untilAnswers(`${dispatcher.url}/readyz`, child)
  }
  const webhooks = start('webhooks', 'serve')
  await Promise.all([untilAnswers(`http://127.0.0.1:${port}/readyz`, webhooks), addDispatcher()])
  const db = new Db({ connectionString: url.href, max: 2 })
  const { endpointSecretContext, insertEndpoint, newSigningSecret, SecretBox } = await coreOf(options.root)
  const secretBox = SecretBox.parse(secretKeys)
  const pids = { webhooks: webhooks.pid ?? 0, dispatcher: dispatchers[0]?.child.pid ?? 0 }

  // Other versions have an index instead of the table.
  const { rows: tables } = await db.query<{ queued: string | null }>(
    `select to_regclass('webhook_queued_events') as queued`,
  )
  const queued = tables[0]?.queued ?? "webhook_events where state = 'queued'"
  const isBusy = async () => {
    const { rows } = await db.query<{ busy: boolean }>(
      `select exists (select from ${queued})
         or exists (select from webhook_pending_deliveries) as busy`,
    )
    return rows[0]?.busy === true
  }

  return {
    ingestUrl: `http://127.0.0.1:${internalPort}/internal/v1/summary-ready`,
    token,
    databaseUrl: url.href,
    queuePrefix,
    pids,
    async account(endpoints) {
      const accountId = randomUUID()
      for (let number = 0; number < endpoints; number += 1) {
        const target = `${options.receiverUrl}/${accountId}/${number}`
        await db.transaction((tx) =>
          insertEndpoint(tx, {
            accountId,
            url: target,
            href: target,
            events: ['summary.completed'],
            maxPerAccount: MAX_ENDPOINTS,
            seal: (id) => secretBox.seal(newSigningSecret(), endpointSecretContext({ id, accountId })),
          }),
        )
      }
      return accountId
    },
    addDispatcher,
    attempts: () => Promise.all(dispatchers.map(({ url }) => attemptsOf(url))),
    async untilDone() {
      while (await isBusy()) await sleep(20)
    },
    memoryMib: () => ({ webhooks: memoryMibOf(pids.webhooks), dispatcher: memoryMibOf(pids.dispatcher) }),
    async stop() {
      await db.close()
      for (const child of [webhooks, ...dispatchers.map((dispatcher) => dispatcher.child)]) {
        child.kill('SIGTERM')
        if (child.exitCode === null) await once(child, 'exit')
      }
    },
  }
}

/** Reads a dispatcher's metrics, and adds up its attempts. */
async function attemptsOf(dispatcher: string): Promise<number> {
  const text = await (await fetch(`${dispatcher}/metrics`)).text()
  const counts = [...text.matchAll(/^signet_delivery_attempts_total\{[^}]*\} (\d+)$/gm)]
  return counts.reduce((sum, [, count]) => sum + Number(count), 0)
}

/** Loads webhook-core from that checkout, because another version may have a different schema. */
async function coreOf(root: string) {
  const load = (file: string): Promise<unknown> =>
    import(pathToFileURL(join(root, 'packages/webhook-core/dist', file)).href)
  const core = (await load('index.js')) as typeof WebhookCore
  const stores = (await load('stores/endpoint-store.js')) as Pick<typeof Stores, 'insertEndpoint'>
  return { ...core, ...stores }
}
