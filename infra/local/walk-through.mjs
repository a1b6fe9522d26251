// `npm run walk-through`: runs the walk-through against services that are already running.
import { optionsOrExit } from './arguments.mjs'
import { bootstrapOrExit, root } from './bootstrap.mjs'

const USAGE = `npm run walk-through               the demo of npm start, against the npm start that runs in this folder
npm run walk-through -- --compose  against docker compose, on the ports of its variables (infra/docker/README.md)`

const { compose } = optionsOrExit(USAGE, { compose: { type: 'boolean', default: false } })
await bootstrapOrExit({ projects: ['infra/local/tsconfig.build.json'] })
const { walk } = await import('./dist/walk.js')
process.exitCode = await walk(root, { compose })
