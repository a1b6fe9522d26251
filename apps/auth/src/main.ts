import { setFlagsFromString } from 'node:v8'
import { readEnvironment } from '@signet/config'
import { runCommandLine, runService, runTask } from '@signet/http'
import type { Logger } from '@signet/telemetry'
import { loadAuthConfig } from './config/config.js'
import { migrateDatabase } from './migrations.js'
import { createAuthLogger } from './context.js'
import { serve } from './serve.js'
import { component, service } from './config/version.js'

// The garbage of requests may grow by a third of what lives, where V8 alone would let it grow to several times as much
// (infra/decisions/0152-common-requests-cost-less-than-express.md). Unlike a limit of the heap it ends no process.
setFlagsFromString('--heap-growing-percent=35')

const print = (text: string) => void process.stdout.write(`${text}\n`)
const environment = () => readEnvironment(process.env)

async function migrate(log: Logger) {
  await migrateDatabase(loadAuthConfig(environment()), log)
}

async function migrateAndServe() {
  const log = createAuthLogger(loadAuthConfig(environment()))
  await migrate(log)
  await log.close()
  return serve(environment())
}

const keys = {
  summary: 'List, rotate and retire the keys of access tokens; `keys help` says how.',
  takesArguments: true,
  async run(argv: readonly string[]) {
    const { runKeysCommand } = await import('./keys/keys-command.js')
    process.exitCode = await runKeysCommand(() => loadAuthConfig(environment()), argv, {
      out: print,
      err: (text) => void process.stderr.write(`${text}\n`),
    })
  },
}

await runCommandLine(
  {
    service,
    commands: {
      serve: {
        summary: 'Answer requests, on a database that is migrated.',
        run: () => runService(component, () => serve(environment())),
      },
      migrate: {
        summary: 'Bring the database to the schema of this version.',
        run: () => runTask(component, migrate),
      },
      keys,
    },
    fallback: {
      summary: 'Migrate, then serve.',
      run: () => runService(component, migrateAndServe),
    },
  },
  process.argv.slice(2),
)
