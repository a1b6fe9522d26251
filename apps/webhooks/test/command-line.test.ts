import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { createTestDatabase, jsonLines } from '@signet/testkit'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

/** Runs the process with nothing but `env`; resolves with exit code and output. */
function run(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; out: string; err: string }> {
  const command = ['--conditions=@signet/source', '--import', 'tsx', main, ...args]
  return new Promise((resolve) => {
    execFile(process.execPath, command, { env: { PATH: process.env['PATH'], ...env } }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err })
    })
  })
}

describe('the webhooks process', () => {
  it('prints its name and version', async () => {
    expect(await run(['version'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^signet-webhooks \d+\.\d+\.\d+\n$/) as unknown,
    })
  })

  it('names every missing variable at once and exits with 1', async () => {
    const { code, err } = await run(['serve'])
    expect(code).toBe(1)
    for (const name of [
      'BASE_URL',
      'DATABASE_URL',
      'REDIS_URL',
      'SECRET_KEYS',
      'IDENTITY_URL',
      'INTERNAL_TOKENS',
    ])
      expect(err).toContain(`WEBHOOKS_${name}`)
    expect(jsonLines(err)).toMatchObject([{ level: 'fatal', component: 'webhooks' }])
  })

  it('migrates in lines of JSON, also where it fails', async () => {
    const database = await createTestDatabase({ key: 'webhooks:empty', migrate: () => Promise.resolve() })
    try {
      const env = { WEBHOOKS_DATABASE_URL: database.url }
      const first = await run(['migrate'], env)
      expect(first).toMatchObject({ code: 0, err: '' })
      expect(jsonLines(first.out)).toMatchObject([{ level: 'info', msg: 'migrated', component: 'webhooks' }])
      expect(jsonLines((await run(['migrate'], env)).out)).toMatchObject([{ msg: 'nothing to migrate' }])
    } finally {
      await database.drop()
    }
    const { code, out, err } = await run(['migrate'], {
      WEBHOOKS_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    })
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(jsonLines(err)).toMatchObject([{ level: 'fatal', error: { error_code: 'ECONNREFUSED' } }])
  })

  it('refuses a command it does not know', async () => {
    expect(await run(['dance'])).toMatchObject({ code: 2, err: expect.stringContaining('Usage') as unknown })
  })
})
