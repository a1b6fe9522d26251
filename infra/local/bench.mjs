// `npm run bench -- <name>` and `npm run chaos`: a built tree, and a PostgreSQL and a Redis of their own.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootstrapOrExit, run } from './bootstrap.mjs'

const PROGRAMS = {
  auth: 'apps/auth/bench/auth.ts',
  oauth: 'apps/webhooks/bench/oauth.ts',
  paging: 'apps/webhooks/bench/paging.ts',
  dispatch: 'apps/dispatcher/bench/dispatch.ts',
  pipeline: 'apps/dispatcher/bench/whole-way/whole-way.ts',
  chaos: 'apps/dispatcher/chaos/run.ts',
}

const [name, ...args] = process.argv.slice(2)
if (!Object.hasOwn(PROGRAMS, name ?? '')) {
  console.error(`npm run bench -- <${Object.keys(PROGRAMS).join('|')}> [arguments]`)
  process.exit(2)
}

const apps = ['auth', 'webhooks', 'dispatcher'].map((app) => `apps/${app}/tsconfig.build.json`)
await bootstrapOrExit({ projects: ['infra/local/tsconfig.build.json', ...apps] })
const { startPostgres, startRedis } = await import('./dist/index.js')

// Ctrl-C reaches the program too. We wait for it to end, so that the servers stop and their data is deleted.
process.on('SIGINT', () => {})
const folder = mkdtempSync(join(tmpdir(), 'signet-bench-'))
chmodSync(folder, 0o711) // as root the server runs under another account, which must be able to enter
// Durable, as in production: a bench with fsync off would measure something nobody runs.
const postgres = await startPostgres({ dataDir: join(folder, 'postgres') })
const redis = await startRedis({ dir: join(folder, 'redis'), appendOnly: true })
try {
  const { code } = await run(
    process.execPath,
    ['--import', 'tsx', '--conditions=@signet/source', PROGRAMS[name], ...args],
    {
      inherit: true,
      env: { ...process.env, DATABASE_URL: postgres.url('postgres'), REDIS_URL: redis.url },
    },
  )
  process.exitCode = code ?? 1
} finally {
  await redis.stop()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
