import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Db } from '@signet/db'
import { createAuthority, leasePort, startGuarded, type Guarded } from '@signet/local'
import { SecretBox, type EndpointId } from '@signet/webhook-core'
import { Subscriber } from '../test/support/subscriber.js'
import { migrateWebhooks } from '@signet/webhook-testkit'
import { makeDisk, removeDisk } from './machine.js'
import { startFaultyReceiver, type FaultyReceiver } from './faulty-receiver.js'
import { ChaosPostgres } from './postgres.js'
import { ChaosRedis } from './redis.js'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js'

export type ProcessName = 'api' | 'dispatcher-1' | 'dispatcher-2'

/** `accessToken` lets its holder call `/v1`. */
export type ChaosAccount = { accountId: string; accessToken: string; endpointIds: EndpointId[] }

export type ChaosStack = {
  db: Db
  receiver: FaultyReceiver
  accounts: ChaosAccount[]
  apiUrl: string
  internalUrl: string
  token: string
  /** The processes take these for the servers; each leads to the server that currently runs. */
  proxies: { postgres: TcpProxy; redis: TcpProxy }
  postgres: Pick<ChaosPostgres, 'kill' | 'startAgain' | 'addStandby' | 'promoteStandby'>
  /** Folders of their data. */
  disks: { postgres: string; redis: string }
  process(name: ProcessName): Guarded
  /** What the process has logged since this position, and where that ends. */
  logOf(name: ProcessName, from: number): { text: string; to: number }
  /** `root`: the compiled checkout to start it from; this one by default. */
  start(name: ProcessName, root?: string): Promise<void>
  redis: Pick<ChaosRedis, 'kill' | 'startAgain' | 'empty' | 'failOver'>
  /** Makes the process's clock fast by this many milliseconds. */
  setClock(name: ProcessName, offsetMs: number): void
  close(): Promise<void>
}

export type StackOptions = {
  /** `dist` runs what is built; `source` needs no build. */
  code: 'dist' | 'source'
  accounts: number
  /** Whether sentinels watch Redis. */
  watched: boolean
  random: () => number
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const ENDPOINTS_PER_ACCOUNT = 2

/** Starts the API, two dispatchers, a faulty receiver, PostgreSQL and Redis, each in a separate process that can be killed. */
export async function startChaosStack({
  code,
  accounts,
  watched,
  random,
}: StackOptions): Promise<ChaosStack> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-chaos-'))
  chmodSync(folder, 0o711) // as root, the servers run under another account, which must be able to enter it
  const authority = await createAuthority()
  writeFileSync(join(folder, 'authority.pem'), authority.cert)

  const disks = { postgres: makeDisk(join(folder, 'postgres')), redis: makeDisk(join(folder, 'redis')) }
  const postgres = await ChaosPostgres.start({
    dataDir: join(disks.postgres, 'data'),
    logFile: join(folder, 'postgres.log'),
  })
  await postgres.createDatabase('webhooks')
  const redis = await ChaosRedis.start(disks.redis, { watched })
  const proxies = {
    postgres: await startTcpProxy(() => postgres.port),
    redis: await startTcpProxy(() => redis.port),
  }
  const databaseUrl = postgres.url('webhooks', proxies.postgres.port)
  await migrateWebhooks(databaseUrl)
  const receiver = await startFaultyReceiver(authority, random)
  const db = new Db({ connectionString: databaseUrl })

  const token = randomBytes(24).toString('base64url')
  const secretKeys = `chaos:${randomBytes(32).toString('base64')}`
  // Processes keep their addresses when they are started again, also as another version.
  const [apiPort, internalPort] = [await leasePort(), await leasePort()]
  const shared = {
    PATH: process.env['PATH'],
    NODE_ENV: 'development',
    NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
    WEBHOOKS_DATABASE_URL: databaseUrl,
    ...redis.settings(proxies.redis.port),
    WEBHOOKS_SECRET_KEYS: secretKeys,
    WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
    WEBHOOKS_LOG_LEVEL: 'info',
  }
  const api = {
    WEBHOOKS_HOST: '127.0.0.1',
    WEBHOOKS_PORT: String(apiPort),
    WEBHOOKS_INTERNAL_PORT: String(internalPort),
    WEBHOOKS_BASE_URL: `http://127.0.0.1:${apiPort}`,
    WEBHOOKS_IDENTITY_URL: 'http://127.0.0.1:9',
    WEBHOOKS_IDENTITY_JWT_SECRET: randomBytes(32).toString('hex'),
    WEBHOOKS_INTERNAL_TOKENS: `chaos:${createHash('sha256').update(token).digest('hex')}`,
    // The load is more than an account may request; limits are counted all the same, with and without Redis.
    WEBHOOKS_RATE_LIMIT_TEST_EVENTS: '1000000',
    WEBHOOKS_RATE_LIMIT_V1: '1000000',
    WEBHOOKS_RATE_LIMIT_V1_WRITES: '1000000',
  }
  const dispatcherPorts = { 'dispatcher-1': await leasePort(), 'dispatcher-2': await leasePort() }
  const processes = new Map<ProcessName, Guarded>()

  const processOf = (name: ProcessName): Guarded => {
    const found = processes.get(name)
    if (!found) throw new Error(`${name} was not started`)
    return found
  }
  const logFile = (name: ProcessName) => join(folder, `${name}.log`)
  const clockFile = (name: ProcessName) => join(folder, `${name}.clock`)

  const start = async (name: ProcessName, root = ROOT): Promise<void> => {
    const isApi = name === 'api'
    const port = isApi ? apiPort : dispatcherPorts[name]
    const env = isApi
      ? api
      : // Shortened, so that the run ends; jitter and number of tries stay.
        {
          DISPATCHER_PORT: String(port),
          DISPATCHER_HOST: '127.0.0.1',
          DISPATCHER_RETRY_DELAYS_SECONDS: '1,2,3,3,3',
        }
    const started = await startGuarded({
      command: process.execPath,
      args: programOf(root, isApi ? 'webhooks' : 'dispatcher', code),
      stopSignal: 'TERM',
      logFile: logFile(name),
      cwd: join(root, 'apps', isApi ? 'webhooks' : 'dispatcher'),
      env: { ...shared, ...env, SIGNET_CHAOS_CLOCK: clockFile(name) },
    })
    processes.set(name, started)
    await untilAlive(started, `http://127.0.0.1:${port}/healthz`, logFile(name))
  }
  await Promise.all((['api', 'dispatcher-1', 'dispatcher-2'] as const).map((name) => start(name)))

  return {
    db,
    receiver,
    accounts: await createAccounts(accounts, { db, receiver, secretBox: SecretBox.parse(secretKeys) }),
    apiUrl: api.WEBHOOKS_BASE_URL,
    internalUrl: `http://127.0.0.1:${internalPort}`,
    token,
    proxies,
    postgres,
    redis,
    disks,
    start,
    process: processOf,
    logOf(name, from) {
      const log = readFileSync(logFile(name))
      return { text: log.subarray(from).toString(), to: log.length }
    },
    setClock(name, offsetMs) {
      writeFileSync(clockFile(name), String(offsetMs))
      processOf(name).kill('SIGUSR2')
    },
    async close() {
      for (const name of processes.keys()) processes.get(name)?.kill('SIGCONT')
      await Promise.all([...processes.values()].map((one) => one.stop(10_000)))
      receiver.close()
      for (const proxy of Object.values(proxies)) proxy.close()
      await db.close()
      await redis.stop()
      await postgres.stop()
      for (const disk of Object.values(disks)) removeDisk(disk)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function programOf(root: string, app: 'webhooks' | 'dispatcher', code: StackOptions['code']): string[] {
  const folder = join(root, 'apps', app)
  const preload = ['--import', new URL('preload.mjs', import.meta.url).href]
  if (code === 'dist') return [...preload, '--enable-source-maps', join(folder, 'dist/main.js'), 'serve']
  const tsx = import.meta.resolve('tsx')
  return [...preload, '--conditions=@signet/source', '--import', tsx, join(folder, 'src/main.ts'), 'serve']
}

async function untilAlive(process: Guarded, url: string, logFile: string): Promise<void> {
  for (const deadline = Date.now() + 150_000; Date.now() < deadline;) {
    if (!process.running) throw new Error(`a process ended at its start; its log is ${logFile}`)
    const alive = await fetch(url, { signal: AbortSignal.timeout(1000) }).then(
      (response) => response.ok,
      () => false,
    )
    if (alive) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`no answer from ${url}`)
}

async function createAccounts(
  count: number,
  { db, receiver, ...deps }: { db: Db; receiver: FaultyReceiver; secretBox: SecretBox },
): Promise<ChaosAccount[]> {
  const accounts: ChaosAccount[] = []
  for (let n = 0; n < count; n += 1) {
    const accountId = randomUUID()
    const subscriber = new Subscriber({ db, ...deps }, accountId)
    const endpointIds: EndpointId[] = []
    for (let i = 0; i < ENDPOINTS_PER_ACCOUNT; i += 1) {
      const path = `/${accountId}/${i}`
      const { id, secret } = await subscriber.endpoint(receiver.url(path))
      receiver.setSecret(path, secret)
      endpointIds.push(id)
    }
    accounts.push({ accountId, accessToken: await grantAccess(db, accountId), endpointIds })
  }
  return accounts
}

/** Inserts the rows that a sign-in of the command-line tool leaves behind. */
async function grantAccess(db: Db, accountId: string): Promise<string> {
  const accessToken = `sva_${randomBytes(32).toString('hex').slice(0, 43)}`
  await db.query(
    `with granted as (
       insert into oauth_grants (account_id, client_id, scope, authenticated_at)
       values ($1, 'svcl_cli', 'mcp:connect', now()) returning id)
     insert into oauth_access_tokens (token_hash, grant_id, account_id, scope, expires_at)
     select $2, id, $1, 'mcp:connect', now() + interval '1 hour' from granted`,
    [accountId, createHash('sha256').update(accessToken).digest()],
  )
  return accessToken
}
