import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { leaseNextPort } from '../ports.js'
import { inPostgres, removePostgresData, startPostgres } from '../postgres.js'
import { inRedis, startRedis } from '../redis.js'
import type { Part } from './supervisor.js'

/** The name says where the store is and whose it is. */
interface Store extends Part {
  url: string
}

const POSTGRES_PORT = 5433
const REDIS_PORT = 6380

/** Uses the server of DATABASE_URL, otherwise an embedded one. `url` is an administrator's, for any database there. */
export async function providePostgres(folder: string): Promise<Store> {
  const ask = (url: string) => inPostgres(url, (client) => client.query('select 1'))
  const given = await givenServer('DATABASE_URL', 'PostgreSQL', ask)
  if (given) return given
  const port = await leaseNextPort(POSTGRES_PORT)
  const logFile = join(folder, 'logs', 'postgres.log')
  const server = await startPostgres({ dataDir: join(folder, 'postgres'), logFile, port })
  return { ...server, url: server.url('postgres'), name: `PostgreSQL (embedded) on port ${port}` }
}

/** Uses the server of REDIS_URL, otherwise a private one that keeps its data. */
export async function provideRedis(folder: string): Promise<Store> {
  const given = await givenServer('REDIS_URL', 'Redis', (url) => inRedis(url, (client) => client.ping()))
  if (given) return given
  const port = await leaseNextPort(REDIS_PORT)
  const server = await startRedis({ dir: join(folder, 'redis'), appendOnly: true, port })
  return { ...server, name: `${server.title} (private) on port ${port}` }
}

/** If the developer's own server does not answer, the error here names its variable. Otherwise, a service would fail much later. */
async function givenServer(
  variable: string,
  name: string,
  ask: (url: string) => Promise<unknown>,
): Promise<Store | undefined> {
  const url = process.env[variable]
  if (!url) return undefined
  await ask(url).catch((error: Error) => {
    throw new Error(`The server of ${variable} does not answer: ${error.message}`, { cause: error })
  })
  return { url, name: `${name} of ${variable}` }
}

/** Deletes everything that the stack stored, if that is only in its own folder. */
export function resetStores(folder: string): void {
  const given = ['DATABASE_URL', 'REDIS_URL'].filter((variable) => process.env[variable])
  if (given.length > 0)
    throw new Error(
      `--reset does not touch the server of ${given.join(' and ')}: empty it, and remove ${folder}.`,
    )
  removePostgresData(join(folder, 'postgres'))
  rmSync(folder, { recursive: true, force: true })
}
