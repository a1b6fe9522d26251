import { fileURLToPath } from 'node:url'
import { loadConfig, readEnvironment } from '@signet/config'
import { migrate } from '@signet/db'
import { runCommandLine, runService, runTask } from '@signet/http'
import type { Logger } from '@signet/telemetry'
import { settings } from './config/config.js'
import { readConfig } from './config/read-config.js'
import { serve } from './serve.js'
import { component, service } from './version.js'

const env = () => readEnvironment(process.env)

async function migrateDatabase(log: Logger): Promise<void> {
  // Only what it needs: migrations run before the service is configured.
  const { databaseUrl } = loadConfig({ databaseUrl: settings.databaseUrl }, env())
  const directory = fileURLToPath(new URL('../migrations', import.meta.url))
  await migrate({ databaseUrl, directory, table: 'migrations', log })
}

const serveCommand = {
  summary: 'Answer requests, on a database that is migrated.',
  run: () => runService(component, () => serve(readConfig(env()))),
}

await runCommandLine(
  {
    service,
    commands: {
      serve: serveCommand,
      migrate: {
        summary: 'Bring the database to the schema of this version.',
        run: () => runTask(component, migrateDatabase),
      },
    },
    fallback: serveCommand,
  },
  process.argv.slice(2),
)
