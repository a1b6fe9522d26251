// `npm run simulate`: estimates what deployments of several sizes can handle, with a model of where events wait (decision 0240).
import { optionsOrExit } from '../local/arguments.mjs'
import { bootstrapOrExit } from '../local/bootstrap.mjs'

optionsOrExit('npm run simulate    what deployments of several sizes can handle (infra/sizing.md)')

await bootstrapOrExit({ projects: ['infra/load/tsconfig.build.json'] })
const { simulationText } = await import('./dist/index.js')
console.log(simulationText())
