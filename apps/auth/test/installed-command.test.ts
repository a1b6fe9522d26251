import { execFile } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createInstallation, NO_MAIL_SERVER } from './support/process.js'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const { bin } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as {
  bin: Record<string, string>
}

describe('the command auth of the package', () => {
  let installation: Awaited<ReturnType<typeof createInstallation>>
  beforeAll(async () => {
    installation = await createInstallation(NO_MAIL_SERVER)
    // Installs the command as package managers do: as a link in a folder on the PATH.
    symlinkSync(join(PACKAGE, bin['auth'] ?? ''), join(installation.folder, 'auth'))
  })
  afterAll(() => installation.close())

  function auth(...args: string[]) {
    const { folder: cwd, env } = installation
    const options = { cwd, env: { ...env, PATH: `${cwd}:${process.env['PATH'] ?? ''}` } }
    return new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile('auth', args, options, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
      )
    })
  }

  it('is the program of the service', async () => {
    expect(await auth('version')).toEqual({ code: 0, stdout: 'signet-auth 0.1.0\n', stderr: '' })
    expect(await auth('sevre')).toMatchObject({ code: 2, stdout: '' })
    expect((await auth('--help')).stdout).toContain('Usage: auth [command]')
  })

  it('lists, rotates and retires signing keys', async () => {
    expect((await auth('keys', 'help')).stdout).toContain('Usage: auth keys')
    expect(await auth('keys', 'rotate', '--alg', 'ES256')).toMatchObject({ code: 0, stderr: '' })
    const { stdout } = await auth('keys', 'list', '--json')
    const { keys } = JSON.parse(stdout) as { keys: { kid: string; alg: string }[] }
    expect(keys.map(({ alg }) => alg)).toEqual(['ES256'])
    expect(await auth('keys', 'retire', 'none')).toMatchObject({ code: 1, stdout: '' })
  })
})
