import { readEnvironment } from '@signet/config'
import { runCommandLine, runService } from '@signet/http'
import { ops } from './operations/ops.js'
import { readConfig } from './read-config.js'
import { serve } from './serve.js'
import { service } from './version.js'

const config = () => readConfig(readEnvironment(process.env))

const work = {
  summary: 'Deliver events until told to stop.',
  run: () => runService(() => serve(config())),
}

const operate = {
  summary: 'Look at the work and steer it; `ops help` says how.',
  takesArguments: true,
  async run(argv: readonly string[]) {
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
