import { loadConfig, readEnvironment } from '@signet/config'
import { runService } from '@signet/http'
import { checkTogether, settings } from './config.js'
import { ops } from './operations/ops.js'
import { serve } from './serve.js'
import { service } from './version.js'

const [command = 'serve', ...argv] = process.argv.slice(2)
const readConfig = () => loadConfig(settings, readEnvironment(process.env), checkTogether)

switch (command) {
  case 'serve':
    await runService(() => serve(readConfig()))
    break
  case 'ops':
    process.exitCode = await ops(readConfig, {
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
