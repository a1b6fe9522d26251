// `npm run load -- --help`
import { bootstrapOrExit } from '../local/bootstrap.mjs'

await bootstrapOrExit({ projects: ['infra/load/tsconfig.build.json'] })
const { runLoad } = await import('./dist/index.js')
process.exitCode = await runLoad(process.argv.slice(2), process.env)
