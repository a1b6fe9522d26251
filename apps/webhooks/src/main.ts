import { fileURLToPath } from 'node:url'
import { loadConfig, readEnvironment } from '@signet/config'
import { migrate } from '@signet/db'
import { runCommandLine, runService } from '@signet/http'
import { settings } from './config/config.js'
import { readConfig } from './config/read-config.js'
import { startService } from './service.js'
import { service } from './version.js'

const env = readEnvironment(process.env)

async function migrateDatabase(): Promise<void> {
  // Only what it needs: migrations run before the service is configured.
  const { databaseUrl } = loadConfig({ databaseUrl: settings.databaseUrl }, env)
  const directory = fileURLToPath(new URL('../migrations', import.meta.url))
  const applied = await migrate({ databaseUrl, directory, table: 'migrations' })
  process.stdout.write(applied.length === 0 ? 'nothing to migrate\n' : `migrated: ${applied.join(', ')}\n`)
}

const serve = {
  summary: 'Answer requests, on a database that is migrated.',
  run: () => runService(() => startService(readConfig(env))),
}

await runCommandLine(
  {
    service,
    commands: {
      serve,
      migrate: { summary: 'Bring the database to the schema of this version.', run: migrateDatabase },
    },
    fallback: serve,
  },
  process.argv.slice(2),
)
