import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { createTestDatabase, waitFor } from '@signet/testkit'
import { anEmail, post } from './support/api.js'
import { watchedProgram } from './support/process.js'
import { JWT_SECRET, SITE } from './support/server.js'

/** Nearly 1 MiB as JSON, and twenty times as much once it is parsed. */
const JUNK = `[${Array(340_000).fill('{}').join(',')}]`

it('a flood of large bodies does not stay in memory while its requests wait for the hashing threads', async () => {
  const database = await createTestDatabase({ key: 'auth:empty', migrate: () => Promise.resolve() })
  const folder = mkdtempSync(join(tmpdir(), 'signet-auth-flood-'))
  const { url, args, env, end } = await watchedProgram(folder)
  // Ten of these bodies fit into this heap, beside what compares the answers with the document.
  const child = spawn(process.execPath, ['--max-old-space-size=240', ...args], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      AUTH_SITE_URL: SITE,
      AUTH_API_EXTERNAL_URL: 'https://auth.example.com',
      AUTH_DB_DRIVER: 'postgres',
      DATABASE_URL: database.url,
      AUTH_JWT_SECRET: JWT_SECRET,
      AUTH_JWT_SIGNING_ALGORITHM: 'ES256',
      AUTH_SMTP_HOST: '127.0.0.1',
      AUTH_SMTP_PORT: '1',
      AUTH_SMTP_ADMIN_EMAIL: 'a@example.com',
      AUTH_API_MAX_REQUEST_DURATION: '120s',
      AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '100000',
      AUTH_API_HOST: '127.0.0.1',
      ...env,
    },
    stdio: 'ignore',
  })
  try {
    await waitFor(async () => (await fetch(`${url}/health`)).ok)
    const requests = Array.from({ length: 40 }, (_, index) => {
      const members = `"email":"${anEmail()}","password":"correct horse battery"`
      const [path, body] =
        index % 2 === 0
          ? ['/token?grant_type=password', `{${members},"junk":${JUNK}}`]
          : ['/signup', `{${members},"data":{"junk":${JUNK}}}`]
      return post({ url }, path, body)
    })
    const answers = await Promise.all(requests)
    // 503 while too many wait for a thread.
    expect(answers.filter(({ status }) => status !== 400 && status !== 503)).toEqual([])
    expect(child.exitCode).toBeNull()
  } finally {
    child.kill('SIGKILL')
    await database.drop()
  }
  try {
    end()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
