import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { succeeds } from '@signet/testkit/programs'
import { codeBlocks } from './support/code-blocks.js'
import { repository, runningStack, type RunningStack } from './support/running-stack.js'

// The commands of the README and of the page with more of them, exactly as printed there, against the services that `npm start` runs.

const read = (file: string) => readFileSync(join(repository, file), 'utf8')
const [, firstRequest = ''] = /## First request\n([^]*?)\n## /.exec(read('README.md')) ?? []

const whereCurlIs = succeeds('curl', ['--version']) ? describe : describe.skip

whereCurlIs('the first requests', () => {
  let stack: RunningStack
  const end = new AbortController()
  beforeAll(async () => {
    stack = await runningStack()
  })
  afterAll(async () => {
    end.abort()
    await stack.stop()
  })

  /** What a shell prints for all commands of a text, in a home of its own. */
  function runAll(text: string): Promise<{ stdout: string; stderr: string }> {
    const env = { PATH: process.env['PATH'], HOME: stack.folder, SIGNET_CREDENTIAL_STORE: 'file' }
    const options = { cwd: stack.folder, signal: end.signal, env }
    return promisify(execFile)('sh', ['-euc', codeBlocks(text, 'sh').join('\n')], options)
  }

  it('of the README end on a delivery that arrived and was verified', async () => {
    const [ending = 'nothing promised'] = codeBlocks(firstRequest, 'text')
    expect((await runAll(firstRequest)).stdout.endsWith(ending)).toBe(true)
  })

  it('with curl lead to the same, and to the dispatcher', async () => {
    const page = read('infra/site/first-requests.md')
    const [ending = 'nothing promised'] = codeBlocks(page, 'text')
    const { stdout, stderr } = await runAll(page)
    expect(stderr).toBe('')
    expect(stdout).toContain(ending)
    expect(stdout.slice(stdout.indexOf(ending))).toMatch(/"status":"ready"[^]*signet_delivery_attempts_total/)
  })
})

describe('the README', () => {
  it('fits on a screen or two', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(81)
  })
})
