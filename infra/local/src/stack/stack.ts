import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Authority, loadAuthority } from '../certificate.js'
import type { Guarded } from '../child.js'
import { LogMark } from '../log-mark.js'
import { startSandbox } from '../sandbox.js'
import { dim, green, say, step } from '../terminal.js'
import {
  createDatabases,
  databaseUrl,
  providePostgres,
  provideRedis,
  resetStores,
  type Store,
} from './databases.js'
import { type ServiceAddresses, type ServiceName, serviceEnvironments } from './environment.js'
import type { Part } from './part.js'
import { choosePorts, type Ports } from './ports.js'
import { loadSecrets, type LocalSecrets } from './secrets.js'
import { startService, untilHealthy } from './service.js'
import type { Supervisor } from './supervisor.js'

export interface StackOptions {
  /** Root of the repository. */
  root: string
  /** Where everything that is to survive a restart lives. */
  folder: string
  reset: boolean
  /** Retry after seconds instead of minutes, so that a person need not wait. */
  shortRetries: boolean
}

export interface StackAddresses extends ServiceAddresses {
  /** Pages and API of the mail inbox and of the receiver. */
  sandboxUrl: string
  smtpPort: number
  receiverUrl: string
  postgresUrl: string
  redisUrl: string
}

export interface Stack {
  addresses: StackAddresses
  secrets: LocalSecrets
}

/** Seconds between the attempts of a delivery while the demo runs. */
const SHORT_RETRIES = '2,4,8,15,15'
const SERVICE_STOP_MS = 7000

/** Starts everything and returns when all services are ready. The supervisor stops it, also after a failure. */
export async function startStack(supervisor: Supervisor, options: StackOptions): Promise<Stack> {
  const { folder } = options
  const wiped = (): string => 'wiped the data of earlier runs'
  if (options.reset) await step(() => reset(folder), wiped)
  mkdirSync(join(folder, 'logs'), { recursive: true, mode: 0o711 })
  const secrets = loadSecrets(join(folder, 'secrets.json'))
  const { ports, moved } = await choosePorts()
  for (const line of moved) say(`  ! ${line}`)

  const [postgres, redis] = await supervisor.start(
    reported(() => providePostgres(folder)),
    reported(() => provideRedis(folder)),
  )
  await createDatabases(postgres.url)
  const authority = await loadAuthority(join(folder, 'authority'))
  await supervisor.start(() => startTools(ports, authority))

  const addresses = { ...addressesOf(ports), postgresUrl: postgres.url, redisUrl: redis.url }
  await startServices(supervisor, options, addresses, secrets)
  return { addresses, secrets }
}

const reported = (begin: () => Promise<Store>) => () => step(begin, ({ description }) => description)

async function startServices(
  supervisor: Supervisor,
  { folder, root, shortRetries }: StackOptions,
  addresses: StackAddresses,
  secrets: LocalSecrets,
): Promise<void> {
  const environments = serviceEnvironments({
    ...addresses,
    databaseUrl: (name) => databaseUrl(addresses.postgresUrl, name),
    siteUrl: `${addresses.sandboxUrl}/welcome`,
    authorityFile: join(folder, 'authority', 'ca.pem'),
    secrets,
    retryDelaysSeconds: shortRetries ? SHORT_RETRIES : undefined,
  })
  writeEnvironments(join(folder, 'env'), environments)
  writeAddresses(join(folder, 'env', 'addresses.sh'), addresses, secrets)
  const service = (name: ServiceName, command: 'migrate' | 'serve'): ServiceRun => ({
    name,
    root,
    env: environments[name],
    logFile: join(folder, 'logs', `${name}.log`),
    args: [command],
  })
  await step(
    () => Promise.all([runToEnd(service('auth', 'migrate')), runToEnd(service('webhooks', 'migrate'))]),
    () => 'databases are up to date',
  )
  await supervisor.start(
    () => runService(service('auth', 'serve'), `${addresses.authUrl}/health`),
    () => runService(service('webhooks', 'serve'), `${addresses.webhooksUrl}/readyz`),
    () => runService(service('dispatcher', 'serve'), `${addresses.dispatcherUrl}/readyz`),
  )
}

/** For `node --env-file`: one-off commands, such as the dispatcher's `ops`, against the running stack. */
function writeEnvironments(folder: string, environments: Record<ServiceName, Record<string, string>>): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const [name, variables] of Object.entries(environments)) {
    const lines = Object.entries(variables).map(([key, value]) => `${key}='${value}'\n`)
    writeFileSync(join(folder, `${name}.env`), lines.join(''), { mode: 0o600 })
  }
}

/** For shells: `. .data/env/addresses.sh`. */
function writeAddresses(file: string, addresses: StackAddresses, secrets: LocalSecrets): void {
  const { authUrl, webhooksUrl, internalUrl, dispatcherUrl, sandboxUrl, receiverUrl } = addresses
  const variables = {
    AUTH: authUrl,
    WEBHOOKS: webhooksUrl,
    INTERNAL: internalUrl,
    INGEST_TOKEN: secrets.internalToken,
    DISPATCHER: dispatcherUrl,
    INBOX: sandboxUrl,
    RECEIVER: receiverUrl,
  }
  writeFileSync(
    file,
    Object.entries(variables)
      .map(([name, value]) => `${name}='${value}'\n`)
      .join(''),
    { mode: 0o600 },
  )
}

async function reset(folder: string): Promise<void> {
  await resetStores(folder)
  rmSync(folder, { recursive: true, force: true })
}

function addressesOf(ports: Ports): Omit<StackAddresses, 'postgresUrl' | 'redisUrl'> {
  // By name: keys of people (passkeys) do not work for an IP address.
  const local = (port: number): string => `http://localhost:${port}`
  return {
    authUrl: local(ports.auth),
    webhooksUrl: local(ports.webhooks),
    internalUrl: local(ports.internal),
    dispatcherUrl: local(ports.dispatcher),
    sandboxUrl: local(ports.inbox),
    smtpPort: ports.smtp,
    receiverUrl: `https://127.0.0.1:${ports.receiver}`,
  }
}

async function startTools(ports: Ports, authority: Authority): Promise<Part> {
  const sandbox = await startSandbox({
    smtpPort: ports.smtp,
    pagePort: ports.inbox,
    receiverPort: ports.receiver,
    authority,
  })
  return { name: 'mail inbox and webhook receiver', stop: () => sandbox.close() }
}

type ServiceRun = Parameters<typeof startService>[0]

async function runToEnd(run: ServiceRun): Promise<void> {
  const log = new LogMark(run.logFile)
  const process = await startService(run)
  const { code } = await process.exited
  if (code !== 0) throw new Error(`${run.name} ${run.args?.join(' ')} failed:\n${log.read()}`)
}

async function runService(run: ServiceRun, healthUrl: string): Promise<Part> {
  const log = new LogMark(run.logFile)
  const startedAt = performance.now()
  const process = await startService(run)
  const part = asPart(run.name, process, log)
  try {
    await untilHealthy(process, healthUrl, log)
  } catch (error) {
    await part.stop?.()
    throw new Error(`${run.name} did not become ready: ${(error as Error).message}`, { cause: error })
  }
  const took = ((performance.now() - startedAt) / 1000).toFixed(1)
  say(`  ${green('✓')} ${run.name} ${dim(`(${took} s)`)}`)
  return part
}

function asPart(name: string, process: Guarded, log: LogMark): Part {
  return {
    name,
    exited: process.exited,
    stop: () => process.stop(SERVICE_STOP_MS),
    lastOutput: () => log.read(),
  }
}
