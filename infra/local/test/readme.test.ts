import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { removePostgresData } from '../src/index.js'
import { type Starter, startIn } from './support/starter.js'

// The commands of the README, exactly as printed there, against the services that `npm start` runs.

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const [, section = ''] =
  /## First requests\n([^]*?)\n## /.exec(readFileSync(join(repository, 'README.md'), 'utf8')) ?? []
const commands = [...section.matchAll(/```sh\n([^]*?)```/g)].map(([, command = '']) => command)
const [, ending = ''] = /```text\n([^]*?)```/.exec(section) ?? []

const isInstalled = (name: string): boolean => spawnSync(name, ['--version']).error === undefined
const whereCurlIs = isInstalled('curl') ? describe : describe.skip

whereCurlIs('the first requests of the README', () => {
  let folder: string
  let starter: Starter
  const end = new AbortController()
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'signet-readme-'))
    for (const name of ['apps', 'infra']) symlinkSync(join(repository, name), join(folder, name))
    starter = startIn(folder, ['--no-demo'])
    await starter.said('Ctrl-C stops everything')
  })
  afterAll(async () => {
    end.abort()
    starter.process.kill('SIGTERM')
    await starter.exitCode
    removePostgresData(join(folder, '.data/postgres'))
    rmSync(folder, { recursive: true, force: true })
  })

  it('lead to a delivery that arrived and was verified', async () => {
    expect(commands.length).toBeGreaterThan(4)
    const options = { cwd: folder, signal: end.signal }
    const { stdout, stderr } = await promisify(execFile)('sh', ['-euc', commands.join('\n')], options)
    expect(stderr).toBe('')
    expect(stdout).toContain(ending)
    expect(stdout.slice(stdout.indexOf(ending))).toMatch(/"status":"ready"[^]*signet_delivery_attempts_total/)
  })
})
