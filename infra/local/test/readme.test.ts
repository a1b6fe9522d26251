import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { repository, runningStack, type RunningStack } from './support/running-stack.js'

// The commands of the README, exactly as printed there, against the services that `npm start` runs.

const [, section = ''] =
  /## First requests\n([^]*?)\n## /.exec(readFileSync(join(repository, 'README.md'), 'utf8')) ?? []
const commands = [...section.matchAll(/```sh\n([^]*?)```/g)].map(([, command = '']) => command)
const [, ending = ''] = /```text\n([^]*?)```/.exec(section) ?? []

const isInstalled = (name: string): boolean => spawnSync(name, ['--version']).error === undefined
const whereCurlIs = isInstalled('curl') ? describe : describe.skip

whereCurlIs('the first requests of the README', () => {
  let stack: RunningStack
  const end = new AbortController()
  beforeAll(async () => {
    stack = await runningStack()
  })
  afterAll(async () => {
    end.abort()
    await stack.stop()
  })

  it('lead to a delivery that arrived and was verified', async () => {
    expect(commands.length).toBeGreaterThan(4)
    const options = { cwd: stack.folder, signal: end.signal }
    const { stdout, stderr } = await promisify(execFile)('sh', ['-euc', commands.join('\n')], options)
    expect(stderr).toBe('')
    expect(stdout).toContain(ending)
    expect(stdout.slice(stdout.indexOf(ending))).toMatch(/"status":"ready"[^]*signet_delivery_attempts_total/)
  })
})
