import { setFlagsFromString } from 'node:v8'
import { fileURLToPath } from 'node:url'
import { loadConfig, readEnvironment } from '@signet/config'
import { migrate } from '@signet/db'
import { runServiceCommands } from '@signet/http'
import { settings } from './config/config.js'
import { readConfig } from './config/read-config.js'
import { serve } from './serve.js'
import { component, service } from './version.js'

// Garbage may grow by a third of what lives, where V8 alone would let it grow to several times as much
// (infra/decisions/0152-common-requests-cost-less-than-express.md).
setFlagsFromString('--heap-growing-percent=30')

const environment = () => readEnvironment(process.env)

await runServiceCommands({
  service,
  component,
  summary: 'Answer requests, on a database that is migrated.',
  readConfig: () => readConfig(environment()),
  serve: (config) => serve(config),
  async migrate(log) {
    // Only what it needs: migrations run before the service is configured.
    const { databaseUrl } = loadConfig({ databaseUrl: settings.databaseUrl }, environment())
    const directory = fileURLToPath(new URL('../migrations', import.meta.url))
    await migrate({ databaseUrl, directory, table: 'migrations', log })
  },
})
