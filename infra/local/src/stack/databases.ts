import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { leaseNextPort } from '../ports.js'
import { createDatabase, removePostgresData, startPostgres } from '../postgres.js'
import { startRedis } from '../redis.js'
import { DATABASES } from './environment.js'
import type { Part } from './supervisor.js'

export interface Store extends Part {
  url: string
  /** For people: where it is and whose. */
  description: string
}

const POSTGRES_PORT = 5433
const REDIS_PORT = 6380
const ANSWER_MS = 5000
/** What the services keep in a Redis that is not ours alone. */
const REDIS_KEYS = '{webhooks}:*'

/** The server of DATABASE_URL, else an embedded one. `url` is an administrator's, to any database there. */
export async function providePostgres(folder: string): Promise<Store> {
  const name = 'PostgreSQL'
  const given = process.env['DATABASE_URL']
  if (given) {
    await expectAnswer('DATABASE_URL', () => inPostgres(given, (client) => client.query('select 1')))
    return { name, url: given, description: 'PostgreSQL of DATABASE_URL' }
  }
  const port = await leaseNextPort(POSTGRES_PORT)
  const logFile = join(folder, 'logs', 'postgres.log')
  const server = await startPostgres({ dataDir: join(folder, 'postgres'), logFile, port })
  const description = `PostgreSQL (embedded) on port ${port}`
  return { ...server, name, url: server.url('postgres'), description }
}

/** The server of REDIS_URL, else a private one that keeps its data. */
export async function provideRedis(folder: string): Promise<Store> {
  const name = 'Redis'
  const given = process.env['REDIS_URL']
  if (given) {
    await expectAnswer('REDIS_URL', () => inRedis(given, (client) => client.ping()))
    return { name, url: given, description: 'Redis of REDIS_URL' }
  }
  const port = await leaseNextPort(REDIS_PORT)
  const server = await startRedis({ dir: join(folder, 'redis'), appendOnly: true, port })
  return { ...server, name, description: `${server.title} (private) on port ${port}` }
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

async function inPostgres(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: ANSWER_MS })
  try {
    await client.connect()
    await work(client)
  } finally {
    await client.end()
  }
}

async function inRedis(url: string, work: (client: Redis) => Promise<unknown>): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: ANSWER_MS, retryStrategy: () => null })
  // The reason is in the rejection of connect; without a listener it would be printed as well.
  client.on('error', () => {})
  try {
    await client.connect()
    await work(client)
  } finally {
    client.disconnect()
  }
}

export async function createDatabases(adminUrl: string): Promise<void> {
  for (const name of Object.values(DATABASES)) await createDatabase(adminUrl, name)
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
  const scan = client.scanStream({ match: REDIS_KEYS, count: 500 }) as AsyncIterable<string[]>
  for await (const keys of scan) if (keys.length > 0) await client.unlink(keys)
}
