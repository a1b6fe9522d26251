import { setFlagsFromString } from 'node:v8'
import { fileURLToPath } from 'node:url'
import { loadConfig, readEnvironment } from '@signet/config'
import { runServiceCommands } from '@signet/http/commands'
import { component, service } from './version.js'

const environment = () => readEnvironment(process.env)

await runServiceCommands({
  service,
  component,
  summary: 'Answer requests, on a database that is migrated.',
  // Each command loads only its own modules.
  async readConfig() {
    const { readConfig } = await import('./config/read-config.js')
    return readConfig(environment())
  },
  async serve(config) {
    const { serve } = await import('./serve.js')
    // Collects garbage once the heap has grown by half. By default, V8 lets it grow to several times its live size
    // (infra/decisions/0152-common-requests-cost-less-than-express.md).
    setFlagsFromString('--heap-growing-percent=50')
    // Reduces the CPU time of an ingested event by a sixth, for the reason in the same record.
    setFlagsFromString('--no-allocation-site-pretenuring')
    return serve(config)
  },
  async migrate(log) {
    const { settings } = await import('./config/config.js')
    const { migrate } = await import('@signet/db')
    // Reads only the settings that migrations need: they run before the service is configured.
    const { databaseUrl } = loadConfig({ databaseUrl: settings.databaseUrl }, environment())
    const directory = fileURLToPath(new URL('../migrations', import.meta.url))
    const setting = 'WEBHOOKS_DATABASE_URL or DATABASE_URL'
    await migrate({ databaseUrl, setting, directory, table: 'migrations', log })
  },
})
