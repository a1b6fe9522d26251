import { setFlagsFromString } from 'node:v8'
import { readEnvironment } from '@signet/config'
import { runServiceCommands, type Command } from '@signet/http/commands'
import { component, service } from './version.js'

// What is allocated during the start stays in memory, and would make V8 grow the young generation to 32 MiB. So let it grow only once
// requests arrive.
setFlagsFromString('--semi-space-growth-factor=1')

const environment = () => readEnvironment(process.env)

// Each command loads only its own modules.
const config = async () => {
  const { readConfig } = await import('./config/read-config.js')
  return readConfig(environment())
}

const keys: Command = {
  summary: 'List, rotate and retire the keys of access tokens; `keys help` says how.',
  takesArguments: true,
  async run(argv) {
    const { runKeysCommand } = await import('./keys/keys-command.js')
    process.exitCode = await runKeysCommand(config, argv, {
      out: (text) => void process.stdout.write(`${text}\n`),
      err: (text) => void process.stderr.write(`${text}\n`),
    })
  },
}

await runServiceCommands({
  service,
  program: 'auth',
  component,
  summary: 'Answer requests, on a database that is migrated.',
  readConfig: config,
  async serve(config) {
    const { serve } = await import('./serve.js')
    // The heap may grow by three quarters before it is collected. Left alone, V8 would let it grow to several times its size
    // (infra/decisions/0152-common-requests-cost-less-than-express.md). Unlike a limit of the heap, this never ends the process.
    setFlagsFromString('--heap-growing-percent=75')
    // Turns off pretenuring. Nearly everything that a request allocates is garbage once it is answered. But V8 samples objects in the
    // middle of requests, takes them for long-lived and begins to allocate such objects in the old generation. There they keep alive what
    // they refer to until the next full collection.
    setFlagsFromString('--no-allocation-site-pretenuring')
    return serve(config, environment(), () => setFlagsFromString('--semi-space-growth-factor=2'))
  },
  async migrate(log) {
    const { migrateDatabase } = await import('./migrations.js')
    return migrateDatabase(await config(), log)
  },
  commands: { keys },
})
