import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAuthority } from '../certificate.js'
import { SANDBOX_PORTS, startSandbox } from '../sandbox.js'
import { green, say } from '../terminal.js'
import { leaseNextPort } from '../ports.js'
import { createDatabase } from '../postgres.js'
import { providePostgres, provideRedis, resetStores } from './databases.js'
import { DATABASES, type ServiceName, serviceEnvironments } from './environment.js'
import { loadSecrets } from './secrets.js'
import { startService } from './service.js'
import type { Supervisor } from './supervisor.js'

interface StackOptions {
  root: string
  /** Folder of everything that must survive a restart. */
  folder: string
  reset: boolean
  /** Retries after seconds instead of minutes, so that a person need not wait. */
  shortRetries: boolean
}

export type Stack = Awaited<ReturnType<typeof startStack>>

const USUAL_PORTS = { auth: 8081, webhooks: 8082, internal: 8083, dispatcher: 8084, ...SANDBOX_PORTS }
type Ports = typeof USUAL_PORTS

/** Seconds between the attempts of a delivery while the demo runs. */
const SHORT_RETRIES = '2,4,8,15,15'

/** Starts everything and returns when all services are ready. The supervisor stops it, also after a failure. */
export async function startStack(supervisor: Supervisor, options: StackOptions) {
  const { folder, root } = options
  if (options.reset) {
    resetStores(folder)
    say(`  ${green('✓')} wiped the data of earlier runs`)
  }
  mkdirSync(join(folder, 'logs'), { recursive: true, mode: 0o711 })
  const secrets = loadSecrets(join(folder, 'secrets.json'))
  const ports = await choosePorts()
  const [postgres, redis] = await Promise.all([
    supervisor.start(() => providePostgres(folder)),
    supervisor.start(() => provideRedis(folder)),
  ])
  for (const name of Object.values(DATABASES)) await createDatabase(postgres.url, name)
  const authority = await loadAuthority(join(folder, 'authority'))
  await supervisor.start(() => startSandbox({ ports, authority }))

  const addresses = { ...addressesOf(ports), postgres: postgres.url, redis: redis.url }
  const environments = serviceEnvironments({
    addresses,
    secrets,
    authorityFile: join(folder, 'authority', 'ca.pem'),
    retryDelaysSeconds: options.shortRetries ? SHORT_RETRIES : undefined,
  })
  const { internalToken } = secrets
  writeVariables(join(folder, 'env'), environments, { ...addresses, ingest_token: internalToken })
  const start = (name: ServiceName, healthUrl: string) => {
    const logFile = join(folder, 'logs', `${name}.log`)
    return supervisor.start(() => startService({ name, root, env: environments[name], logFile }, healthUrl))
  }
  await Promise.all([
    start('auth', `${addresses.auth}/health`),
    // The dispatcher uses the database of webhooks, which migrates it.
    start('webhooks', `${addresses.webhooks}/readyz`).then(() =>
      start('dispatcher', `${addresses.dispatcher}/readyz`),
    ),
  ])
  return { addresses, secrets }
}

/**
 * Writes the variables of the running stack. `<service>.env` is for `node --env-file`, for one-off commands such as the dispatcher's
 * `ops`. `addresses.sh` is for shells: `. .data/env/addresses.sh`.
 */
function writeVariables(
  folder: string,
  environments: ReturnType<typeof serviceEnvironments>,
  addresses: Readonly<Record<string, string>>,
): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const write = (file: string, variables: [name: string, value: string][]): void => {
    const lines = variables.map(([name, value]) => `${name}='${value}'\n`)
    writeFileSync(join(folder, file), lines.join(''), { mode: 0o600 })
  }
  for (const [name, variables] of Object.entries(environments))
    write(`${name}.env`, Object.entries(variables))
  const named = Object.entries(addresses).map(([name, url]): [string, string] => [name.toUpperCase(), url])
  write('addresses.sh', named)
}

/** Chooses the usual port for each service, or the next free one. */
async function choosePorts(): Promise<Ports> {
  const ports = { ...USUAL_PORTS }
  for (const [name, usual] of Object.entries(USUAL_PORTS)) {
    const port = (ports[name as keyof Ports] = await leaseNextPort(usual))
    if (port !== usual) say(`  ! port ${usual} (${name}) is taken; using ${port}`)
  }
  return ports
}

const addressesOf = ({ auth, webhooks, internal, dispatcher, inbox, smtp, receiver }: Ports) => ({
  // Uses the name, because passkeys do not work for an IP address.
  auth: `http://localhost:${auth}`,
  webhooks: `http://localhost:${webhooks}`,
  internal: `http://localhost:${internal}`,
  dispatcher: `http://localhost:${dispatcher}`,
  inbox: `http://localhost:${inbox}`,
  smtp: `smtp://localhost:${smtp}`,
  // Uses the number, because the dispatcher only asks DNS.
  receiver: `https://127.0.0.1:${receiver}`,
})
