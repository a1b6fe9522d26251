import { readEnvironment } from '@signet/config'
import { runCommandLine, runService } from '@signet/http'
import { loadAuthConfig } from './config.js'
import { migrateDatabase } from './migrations.js'
import { serve } from './serve.js'
import { service } from './version.js'

const print = (text: string) => void process.stdout.write(`${text}\n`)
const environment = () => readEnvironment(process.env)

async function migrate() {
  await migrateDatabase(loadAuthConfig(environment()), print)
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
        run: () => runService(() => serve(environment())),
      },
      migrate: { summary: 'Bring the database to the schema of this version.', run: migrate },
      keys,
    },
    fallback: {
      summary: 'Migrate, then serve.',
      run: () => runService(async () => (await migrate(), serve(environment()))),
    },
  },
  process.argv.slice(2),
)
