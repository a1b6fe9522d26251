import { setFlagsFromString } from 'node:v8'
import { readEnvironment } from '@signet/config'
import { runServiceCommands, type Command } from '@signet/http/commands'
import { component, service } from './version.js'

// Each command loads only its own modules. Loading the engine would double the time of `ops status`.
const config = async () => {
  const { readConfig } = await import('./config/read-config.js')
  return readConfig(readEnvironment(process.env))
}

const operate: Command = {
  summary: 'Inspect and control deliveries; see `ops help`.',
  takesArguments: true,
  async run(argv) {
    const { ops } = await import('./operations/ops.js')
    process.exitCode = await ops(config, {
      argv,
      env: process.env,
      out: (text) => void process.stdout.write(`${text}\n`),
      err: (text) => void process.stderr.write(`${text}\n`),
    })
  },
}

await runServiceCommands({
  service,
  component,
  summary: 'Deliver events until stopped.',
  readConfig: config,
  async serve(config) {
    const { serve } = await import('./serve.js')
    // Lets garbage grow to three quarters of the live heap. By default, V8 would let it grow to several times as much
    // (infra/decisions/0152-common-requests-cost-less-than-express.md).
    setFlagsFromString('--heap-growing-percent=75')
    return serve(config)
  },
  commands: { ops: operate },
})
