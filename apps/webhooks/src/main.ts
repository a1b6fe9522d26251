import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { loadConfig, readEnvironment } from '@signet/config'
import { migrate } from '@signet/db'
import { runService } from '@signet/http'
import { settings } from './config.js'
import { readConfig } from './read-config.js'
import { startService } from './service.js'

const env = readEnvironment(process.env)
const [command = 'serve'] = process.argv.slice(2)

if (command === 'serve') await runService(() => startService(readConfig(env)))
else if (command === 'migrate') await runCommand(migrateDatabase)
else if (command === 'version') await runCommand(() => Promise.resolve(version()))
else await runCommand(() => Promise.reject(new Error('usage: main.js [serve | migrate | version]')))

async function migrateDatabase(): Promise<string> {
  // Only what it needs: migrations run before the service is configured.
  const { databaseUrl } = loadConfig({ databaseUrl: settings.databaseUrl }, env)
  const directory = fileURLToPath(new URL('../migrations', import.meta.url))
  const applied = await migrate({ databaseUrl, directory, table: 'migrations' })
  return applied.length === 0 ? 'nothing to migrate' : `migrated: ${applied.join(', ')}`
}

function version(): string {
  return (createRequire(import.meta.url)('../package.json') as { version: string }).version
}

async function runCommand(command: () => Promise<string>): Promise<void> {
  try {
    process.stdout.write(`${await command()}\n`)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
