import { join } from 'node:path'
import { takeLock } from '../lock.mjs'
import { type Stack, startStack } from './stack/stack.js'
import { Supervisor } from './stack/supervisor.js'
import { bold, dim, green, red, say, secondsSince, table } from './terminal.js'
import { walkThrough, type WalkthroughResult } from './walkthrough/index.js'

const INTERRUPTED = 130
const NPM_POLL_MS = 500

/** Options of `npm start`, as parsed by start-options.mjs. */
interface Options {
  reset: boolean
  once: boolean
  demo: boolean
}

/** The `npm start` command. `root` is the repository. Returns the exit code. */
export async function start(root: string, options: Options): Promise<number> {
  const supervisor = new Supervisor()
  // Two stacks in one folder would open the same Redis files, and `--reset` would delete the data of a running one. The lock is outside
  // the data, so that it survives a reset.
  const { release, owner } = takeLock(join(root, '.cache', 'start.lock'))
  try {
    if (!release) throw new Error(`npm start already runs in this folder (process ${owner}): stop it first.`)
    return await Promise.race([
      untilAskedToStop().then(() => (options.once ? INTERRUPTED : 0)),
      supervisor.unexpectedEnd.then((end) => {
        say(`\n${red(end)}`)
        return 1
      }),
      run(root, options, supervisor),
    ])
  } catch (error) {
    say(`\n${red('The stack did not start.')} ${error instanceof Error ? error.message : String(error)}`)
    return 1
  } finally {
    const stoppingAt = performance.now()
    await supervisor.stop()
    release?.()
    say(dim(`  stopped in ${secondsSince(stoppingAt)}`))
  }
}

/** With `--once`, ends with an exit code. Otherwise never ends, because the services stay up. */
async function run(root: string, { reset, once, demo }: Options, supervisor: Supervisor): Promise<number> {
  const startedAt = performance.now()
  const folder = join(root, '.data')
  const stack = await startStack(supervisor, { root, folder, reset, shortRetries: demo })
  say(`\n  ${green('Everything is up')} ${dim(`after ${secondsSince(startedAt)}`)}`)
  // After a failure, the services keep running so that people can look into it.
  const { internalToken } = stack.secrets
  const result = demo ? await walkThrough({ ...stack.addresses, internalToken }) : undefined
  if (once) return result ? 0 : 1
  say(`\n${overview(stack, folder, result)}\n`)
  say(dim('  Ctrl-C stops everything; the data stays in .data for the next start.\n'))
  return new Promise<never>(() => {})
}

function overview({ addresses, secrets }: Stack, folder: string, demo?: WalkthroughResult): string {
  const rows: [string, string][] = [
    ['Identity (auth)', `${addresses.auth}   sign-in pages /ui, API page /docs`],
    ['Webhooks and OAuth', `${addresses.webhooks}   portal /portal, API page /docs, MCP /mcp`],
    ['  internal API', `${addresses.internal}   token ${secrets.internalToken}`],
    ['Dispatcher', `${addresses.dispatcher}   /readyz, /metrics`],
    ['  for operators', `${addresses.dispatcher}/admin   any name, password ${secrets.adminToken}`],
    ['Email inbox', `${addresses.inbox}   SMTP at ${addresses.smtp}`],
    ['Webhook receiver', `${addresses.receiver}   page ${addresses.inbox}/receiver`],
    ['PostgreSQL', addresses.postgres],
    ['Redis', addresses.redis],
    ['Logs', join(folder, 'logs')],
  ]
  if (demo) {
    rows.push(['Demo account', `${demo.person.email}   password ${demo.person.password}`])
    rows.push(['  its access token', `${demo.accessToken}   for /v1, one hour`])
  }
  return `${bold('  Where everything is')}\n\n${table(rows)}`
}

/** Settles on the first Ctrl-C or SIGTERM. A second one ends the process immediately, and the guards end the children. */
function untilAskedToStop(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false
    const ask = (): void => {
      if (asked) process.exit(INTERRUPTED)
      asked = true
      say(`\n${dim('  stopping …')}`)
      resolve()
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, ask)
    if (!process.env['npm_lifecycle_event']) return
    // npm does not forward every signal, and none if it is killed. Once npm is gone, nobody needs this process.
    const npm = process.ppid
    const timer = setInterval(() => {
      if (process.ppid === npm) return
      clearInterval(timer)
      ask()
    }, NPM_POLL_MS).unref()
  })
}
