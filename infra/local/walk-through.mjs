// `npm run walk-through`: runs the walk-through against services that are already running. With `--compose`, those of docker compose.
import { bootstrapOrExit, root } from './bootstrap.mjs'

await bootstrapOrExit({ projects: ['infra/local/tsconfig.build.json'] })
const { walk } = await import('./dist/walk.js')
process.exitCode = await walk(root, process.argv.slice(2))
