import { readEnvironment } from '@signet/config'
import { runService } from '@signet/http'
import { loadAuthConfig } from './config.js'
import { migrateDatabase } from './migrations.js'
import { serve } from './serve.js'
import { service } from './version.js'

const print = (text: string) => void process.stdout.write(`${text}\n`)
const environment = () => readEnvironment(process.env)

async function migrate() {
  await migrateDatabase(loadAuthConfig(environment()), print)
}

const [command = ''] = process.argv.slice(2)
if (command === 'version') print(service.version)
else if (command === 'migrate') await migrate().catch(fail)
else if (command === 'serve') await runService(() => serve(environment()))
else if (command === '') await runService(async () => (await migrate(), serve(environment())))
else
  fail(new Error(`Unknown command ${command}; use serve, migrate or version, or none for migrate and serve`))

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
