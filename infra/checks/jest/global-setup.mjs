// Starts one PostgreSQL cluster and one Redis for a whole jest run, on free ports. DATABASE_URL and REDIS_URL name servers to use
// instead.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAlive } from '../../local/lock.mjs'
import { startPostgres, startRedis } from '../../local/dist/index.js'
import { scratchFolder } from './scratch-folder.mjs'

const PREFIX = `signet-test-${process.getuid?.() ?? 'user'}-`

export default async function globalSetup() {
  const place = scratchFolder()
  for (const each of new Set([place, tmpdir()])) sweepOldRuns(each)
  const folder = join(place, `${PREFIX}${process.pid}`)
  mkdirSync(folder, { recursive: true, mode: 0o711 }) // the server's account must be able to enter
  const [postgres, redis] = await Promise.all([
    process.env.DATABASE_URL ? undefined : startPostgres({ dataDir: join(folder, 'postgres'), test: true }),
    process.env.REDIS_URL ? undefined : startRedis({ dir: join(folder, 'redis') }),
  ])
  process.env.SIGNET_TEST_DATABASE_URL = process.env.DATABASE_URL ?? postgres.url('postgres')
  process.env.SIGNET_TEST_REDIS_URL = process.env.REDIS_URL ?? redis.url
  // Servers that tests start themselves also keep their data there.
  process.env.SIGNET_TEST_FOLDER = folder
  globalThis.signetTestServers = { folder, postgres, redis }
}

/** Removes the folders of jest runs that were killed. Their servers have ended by themselves. */
function sweepOldRuns(place) {
  for (const name of readdirSync(place)) {
    if (!name.startsWith(PREFIX)) continue
    if (!isAlive(Number(name.slice(PREFIX.length))))
      rmSync(join(place, name), { recursive: true, force: true })
  }
}
