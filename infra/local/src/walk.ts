import { join } from 'node:path'
import { readVariables } from '@signet/config'
import { say } from './terminal.js'
import { walkThrough, type World } from './walkthrough/index.js'

/** The addresses that docker-compose.yml publishes. Its secrets are only for development, and say so. */
function composeWorld(): World {
  const at = (setting: string, port: number) => `http://localhost:${process.env[setting] || port}`
  return {
    auth: at('SIGNET_AUTH_PORT', 8081),
    webhooks: at('SIGNET_WEBHOOKS_PORT', 8082),
    internal: at('SIGNET_INTERNAL_PORT', 8083),
    internalToken: 'development-only-pipeline-token',
    inbox: at('SIGNET_INBOX_PORT', 8025),
  }
}

const NOTED = ['AUTH', 'WEBHOOKS', 'INTERNAL', 'INBOX', 'INGEST_TOKEN']

/** The addresses of the `npm start` that runs in this folder, from the file that it writes for shells. */
export function localWorld(root: string): World | undefined {
  const noted = readVariables(join(root, '.data/env/addresses.sh'))
  const [auth, webhooks = '', internal = '', inbox = '', internalToken = ''] = NOTED.map(
    (name) => noted[name],
  )
  return auth === undefined ? undefined : { auth, webhooks, internal, inbox, internalToken }
}

/** Runs only the walk-through: against the running `npm start`, or with `compose` against containers. */
export async function walk(root: string, { compose }: { compose: boolean }): Promise<number> {
  const world = compose ? composeWorld() : localWorld(root)
  if (world) return (await walkThrough(world)) ? 0 : 1
  say('No stack is known here: run `npm start` in another terminal first, or give --compose.')
  return 2
}
