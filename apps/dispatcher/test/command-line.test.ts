import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from '@jest/globals'

/** The built program: compiling it for each run would take longer than the run itself. */
const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))

/** Commands that need settings. */
const commands = [[], ['serve'], ['ops', 'status']]

it.each(commands)('names every wrong setting at once and exits with 1: %j %j', async (...args: string[]) => {
  const child = spawn(process.execPath, [main, ...args], {
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'prod',
      WEBHOOKS_DATABASE_URL: 'mysql://db',
      WEBHOOKS_REDIS_URL: 'redis://redis:70000',
      WEBHOOKS_REDIS_SENTINELS: '::1:26379',
      WEBHOOKS_REDIS_CLUSTER_NODES: 'redis-1',
    },
  })
  const [err] = await Promise.all([text(child.stderr), once(child, 'close')])
  expect(child.exitCode).toBe(1)
  for (const name of [
    'NODE_ENV',
    'WEBHOOKS_DATABASE_URL',
    'WEBHOOKS_REDIS_URL',
    'WEBHOOKS_REDIS_SENTINELS',
    'WEBHOOKS_REDIS_CLUSTER_NODES',
    'WEBHOOKS_SECRET_KEYS',
  ])
    expect(err).toMatch(new RegExp(`${name} (must|is required)`))
})

it('ends with the exit code of a command whose output nobody reads', async () => {
  const child = spawn(process.execPath, [main, 'ops', 'help'])
  // Closes the output before the program has started.
  child.stdout.destroy()
  const [err] = await Promise.all([text(child.stderr), once(child, 'close')])
  expect([child.exitCode, err]).toEqual([0, ''])
})

const full = '/dev/full'
const onFullDisk = existsSync(full) ? it : it.skip
onFullDisk('says in a line that the output of a command cannot be written', async () => {
  const output = openSync(full, 'w')
  const child = spawn(process.execPath, [main, 'ops', 'help'], { stdio: ['ignore', output, 'pipe'] })
  closeSync(output)
  const [err] = await Promise.all([child.stderr ? text(child.stderr) : '', once(child, 'close')])
  expect([child.exitCode, err]).toEqual([1, 'The output cannot be written (ENOSPC)\n'])
})
