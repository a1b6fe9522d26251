import { readEnvironment } from '@signet/config'
import { runCommandLine, runService } from '@signet/http'
import { readConfig } from './config/read-config.js'
import { component, service } from './version.js'

const config = () => readConfig(readEnvironment(process.env))

// Each command loads only its own modules. Loading the engine would double the time of `ops status`.
const work = {
  summary: 'Deliver events until stopped.',
  async run() {
    const { serve } = await import('./serve.js')
    await runService(component, async () => serve(config()))
  },
}

const operate = {
  summary: 'Inspect and control deliveries; see `ops help`.',
  takesArguments: true,
  async run(argv: readonly string[]) {
    const { ops } = await import('./operations/ops.js')
    process.exitCode = await ops(config, {
      argv,
      env: process.env,
      out: (text) => console.log(text),
      err: (text) => console.error(text),
    })
  },
}

await runCommandLine(
  { service, commands: { serve: work, ops: operate }, fallback: work },
  process.argv.slice(2),
)
