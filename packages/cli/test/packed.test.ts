import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

// Tests the package as people get it: packed by npm, and installed offline where nothing of this repository is within reach.
const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as { version: string }
const folder = mkdtempSync(join(tmpdir(), 'signet-packed-'))
const installed = join(folder, 'prefix/bin/signet')
const ALONE = ['--offline', '--omit=optional', '--no-audit', '--no-fund']
let archive: string

type Ended = { code: number; stdout: string; stderr: string }

async function run(command: string, args: readonly string[], cwd = folder): Promise<Ended> {
  // This npm must not inherit the settings of the npm that runs these tests.
  const env = { PATH: process.env['PATH'], HOME: folder, SIGNET_CREDENTIAL_STORE: 'file' }
  try {
    return { code: 0, ...(await promisify(execFile)(command, args, { cwd, env })) }
  } catch (error) {
    return error as Ended
  }
}

beforeAll(async () => {
  const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], PACKAGE)
  const [{ filename }] = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('['))) as [{ filename: string }]
  archive = join(folder, filename)
  const prefix = join(folder, 'prefix')
  const done = await run('npm', ['install', '--global', '--prefix', prefix, ...ALONE, archive])
  expect(done).toMatchObject({ code: 0 })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the packed program', () => {
  it('is installed by npm install --global', async () => {
    expect(await run(installed, ['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` })
    expect((await run(installed, ['--help'])).stdout).toContain('Usage: signet')
  })

  it('runs its commands', async () => {
    expect(await run(installed, ['whoami', '--json'])).toMatchObject({ code: 3 })
    expect((await run(installed, ['completion', 'bash'])).stdout).toContain('signet')
    const unreachable = ['--url', 'http://127.0.0.1:1', 'login', '--no-browser']
    expect(await run(installed, unreachable)).toMatchObject({ code: 4 })
  })

  it('runs by npx, not installed', async () => {
    const args = ['--yes', '--offline', `--package=${archive}`, 'signet', '--version']
    expect(await run('npx', args)).toMatchObject({ code: 0, stdout: `${version}\n` })
  })

  it('carries its own license', () => {
    const path = 'prefix/lib/node_modules/@signet/cli/LICENSE'
    const ours = readFileSync(join(PACKAGE, '../../LICENSE'), 'utf8')
    expect(readFileSync(join(folder, path), 'utf8')).toBe(ours)
  })

  it('carries the licenses of what is in it', () => {
    const path = 'prefix/lib/node_modules/@signet/cli/dist/THIRD-PARTY-NOTICES.txt'
    expect(readFileSync(join(folder, path), 'utf8')).toMatch(/^commander \d[^]*^oauth4webapi \d[^]*^open \d/m)
  })
})
