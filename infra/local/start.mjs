// `npm start`: goes from a fresh clone to running services. See `--help` for the options.
import { bootstrapOrExit, root } from './bootstrap.mjs'
import { readStartArguments } from './start-options.mjs'

const { options, text, code } = readStartArguments(process.argv.slice(2))
if (options === undefined) {
  console.log(text)
  process.exit(code)
}
const folders = ['infra/local', 'apps/auth', 'apps/webhooks', 'apps/dispatcher', 'packages/cli']
await bootstrapOrExit({ projects: folders.map((folder) => `${folder}/tsconfig.build.json`) })
const { start } = await import('./dist/start.js')
process.exit(await start(root, options))
