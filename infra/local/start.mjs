// `npm start`: everything from a fresh clone to running services. See `--help` for the options.
import { bootstrapOrExit, root } from './bootstrap.mjs'

await bootstrapOrExit({
  projects: [
    ...['infra/local', 'apps/auth', 'apps/webhooks', 'apps/dispatcher', 'packages/cli'].map(
      (folder) => `${folder}/tsconfig.build.json`,
    ),
  ],
})
const { start } = await import('./dist/start.js')
process.exit(await start(root, process.argv.slice(2)))
