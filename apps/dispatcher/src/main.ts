import { loadConfig, readEnvironment } from '@signet/config'
import { runService } from '@signet/http'
import { checkTogether, settings } from './config.js'
import { serve } from './serve.js'
import { service } from './version.js'

const [command = 'serve'] = process.argv.slice(2)
const readConfig = () => loadConfig(settings, readEnvironment(process.env), checkTogether)

switch (command) {
  case 'serve':
    await runService(() => serve(readConfig()))
    break
  case 'version':
    console.log(`${service.name} ${service.version}`)
    break
  default:
    console.error(`Unknown command: ${command}. Use serve or version.`)
    process.exitCode = 2
}
