import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'

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
  })

  it('refuses a command it does not know', async () => {
    expect(await run(['dance'])).toMatchObject({ code: 2, err: expect.stringContaining('Usage') as unknown })
  })
})
