import { readEnvironment } from '@signet/config'
import { runCommandLine, runService } from '@signet/http'
import { readConfig } from './read-config.js'
import { service } from './version.js'

const config = () => readConfig(readEnvironment(process.env))

// Each command loads its own modules: half of the time of a quick look would go into loading the engine.
const work = {
  summary: 'Deliver events until told to stop.',
  async run() {
    const { serve } = await import('./serve.js')
    await runService(() => serve(config()))
  },
}

const operate = {
  summary: 'Look at the work and steer it; `ops help` says how.',
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
