// `npm run simulate`: estimates what deployments of several sizes can handle, with a model of where events wait (decision 0240).
import { bootstrapOrExit } from '../local/bootstrap.mjs'

await bootstrapOrExit({ projects: ['infra/load/tsconfig.build.json'] })
const { simulationText } = await import('./dist/index.js')
console.log(simulationText())
