import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createDatabase, removePostgresData, startPostgres } from '../postgres.js'
import { startRedis } from '../redis.js'
import { leaseNextPort } from '../ports.js'
import { DATABASES } from './environment.js'
import type { Part } from './part.js'

export interface Store extends Part {
  url: string
  /** For people: where it is and whose. */
  description: string
}

const POSTGRES_PORT = 5433
const REDIS_PORT = 6380
const ANSWER_MS = 5000
/** What the services keep in a Redis that is not ours alone. */
const REDIS_KEYS = ['{webhooks}:*']

/** The server of DATABASE_URL, else an embedded one. `url` is an administrator's, to any database there. */
export async function providePostgres(folder: string): Promise<Store> {
  const given = process.env['DATABASE_URL']
  if (given) {
    await expectAnswer('DATABASE_URL', () => askPostgres(given))
    return { name: 'PostgreSQL', url: given, description: 'PostgreSQL of DATABASE_URL' }
  }
  const dataDir = join(folder, 'postgres')
  const logFile = join(folder, 'logs', 'postgres.log')
  const server = await startPostgres({ dataDir, logFile, port: await leaseNextPort(POSTGRES_PORT) })
  return {
    name: 'PostgreSQL',
    url: server.url('postgres'),
    description: `PostgreSQL (embedded) on port ${server.port}`,
    exited: server.exited,
    stop: () => server.stop(),
  }
}

/** The server of REDIS_URL, else a private one that keeps its data. */
export async function provideRedis(folder: string): Promise<Store> {
  const given = process.env['REDIS_URL']
  if (given) {
    await expectAnswer('REDIS_URL', () => askRedis(given))
    return { name: 'Redis', url: given, description: 'Redis of REDIS_URL' }
  }
  const port = await leaseNextPort(REDIS_PORT)
  const server = await startRedis({ dir: join(folder, 'redis'), appendOnly: true, port })
  return {
    name: 'Redis',
    url: server.url,
    description: `${server.title} (private) on port ${server.port}`,
    exited: server.exited,
    stop: () => server.stop(),
  }
}

/** An own server that does not answer is named by its variable here, not by a service that fails much later. */
async function expectAnswer(variable: string, ask: () => Promise<unknown>): Promise<void> {
  try {
    await ask()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`The server of ${variable} does not answer: ${reason}`, { cause: error })
  }
}

const askPostgres = (url: string) => inPostgres(url, (client) => client.query('select 1'))
const askRedis = (url: string) => inRedis(url, (client) => client.ping())

async function inPostgres<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: ANSWER_MS })
  try {
    await client.connect()
    return await work(client)
  } finally {
    await client.end()
  }
}

async function inRedis<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: ANSWER_MS, retryStrategy: () => null })
  // The reason is in the rejection of connect; without a listener it would be printed as well.
  client.on('error', () => {})
  try {
    await client.connect()
    return await work(client)
  } finally {
    client.disconnect()
  }
}

export async function createDatabases(adminUrl: string): Promise<void> {
  for (const name of Object.values(DATABASES)) await createDatabase(adminUrl, name)
}

/** The same server, another database. */
export function databaseUrl(adminUrl: string, database: string): string {
  const url = new URL(adminUrl)
  url.pathname = `/${database}`
  return url.href
}

/** Forgets everything the stack stored, in its own servers and in those it was given. */
export async function resetStores(folder: string): Promise<void> {
  removePostgresData(join(folder, 'postgres'))
  const { DATABASE_URL: databaseServer, REDIS_URL: redisServer } = process.env
  if (databaseServer) await inPostgres(databaseServer, dropDatabases)
  if (redisServer) await inRedis(redisServer, deleteKeys)
}

async function dropDatabases(client: pg.Client): Promise<void> {
  for (const name of Object.values(DATABASES))
    await client.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`)
}

async function deleteKeys(client: Redis): Promise<void> {
  for (const match of REDIS_KEYS) {
    for await (const keys of client.scanStream({ match, count: 500 }) as AsyncIterable<string[]>)
      if (keys.length > 0) await client.unlink(keys)
  }
}
