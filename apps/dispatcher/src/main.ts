import { readEnvironment } from '@signet/config'
import { runService } from '@signet/http'
import { ops } from './operations/ops.js'
import { readConfig } from './read-config.js'
import { serve } from './serve.js'
import { service } from './version.js'

const [command = 'serve', ...argv] = process.argv.slice(2)
const config = () => readConfig(readEnvironment(process.env))

switch (command) {
  case 'serve':
    await runService(() => serve(config()))
    break
  case 'ops':
    process.exitCode = await ops(config, {
      argv,
      env: process.env,
      out: (text) => console.log(text),
      err: (text) => console.error(text),
    })
    break
  case 'version':
    console.log(`${service.name} ${service.version}`)
    break
  default:
    console.error(`Unknown command: ${command}. Use serve, ops or version.`)
    process.exitCode = 2
}
