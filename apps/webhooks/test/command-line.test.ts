import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { Db } from '@signet/db'
import { createTestDatabase, jsonLines, lockWaiters, testRedis, waitFor } from '@signet/testkit'

/** The built program: compiling it for each run would take longer than the run itself. */
const main = fileURLToPath(new URL('../dist/main.js', import.meta.url))

/** Runs the process with nothing but `env`; resolves with exit code and output. Stops it when it prints `stopAt`. */
async function run(args: string[], env: Record<string, string> = {}, stopAt?: string) {
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env['PATH'], ...env } })
  let [out, err] = ['', '']
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  let stopped = false
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString()
    // Signals only once: a second signal would end the process before it has closed.
    if (!stopped && stopAt !== undefined && out.includes(stopAt)) stopped = child.kill('SIGINT')
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
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
    expect(jsonLines(err)).toMatchObject([
      {
        level: 'fatal',
        problems: [
          expect.stringMatching(
            /^cannot connect to the database \(WEBHOOKS_DATABASE_URL or DATABASE_URL\): /,
          ),
        ],
      },
    ])
  })

  it('leaves no lock and no part of a migration behind when a signal ends it', async () => {
    const database = await createTestDatabase({ key: 'webhooks:empty', migrate: () => Promise.resolve() })
    const db = new Db({ connectionString: database.url, max: 3 })
    const env = { WEBHOOKS_DATABASE_URL: database.url }
    try {
      // The first migration has to wait for a table of the same name, in a transaction that is not over.
      await db.transaction(async (tx) => {
        await tx.query('create table oauth_clients ()')
        const child = spawn(process.execPath, [main, 'migrate'], {
          env: { PATH: process.env['PATH'], ...env },
          stdio: 'ignore',
        })
        const exit = once(child, 'exit')
        await lockWaiters(db, 1)
        child.kill('SIGTERM')
        expect(await exit).toEqual([143, null])
        // Also while the other transaction is not over, because others wait behind the lock that the migration waits for.
        await waitFor(async () => {
          const { rowCount } = await db.query(
            `select from pg_stat_activity where datname = current_database() and application_name = 'migrate'`,
          )
          return rowCount === 0
        })
        await tx.query('drop table oauth_clients')
      })
      const { rows } = await db.query(
        `select (select count(*)::int from pg_locks where locktype = 'advisory'
                   and database = (select oid from pg_database where datname = current_database())) as locks,
                to_regclass('oauth_clients') as table`,
      )
      expect(rows).toEqual([{ locks: 0, table: null }])
      expect(jsonLines((await run(['migrate'], env)).out)).toMatchObject([{ msg: 'migrated' }])
    } finally {
      await db.close()
      await database.drop()
    }
  })

  it('migrates and serves without a command, but changes nothing while the configuration has problems', async () => {
    const database = await createTestDatabase({ key: 'webhooks:empty', migrate: () => Promise.resolve() })
    const env = {
      WEBHOOKS_BASE_URL: 'http://127.0.0.1:3002',
      WEBHOOKS_HOST: '127.0.0.1',
      WEBHOOKS_PORT: '0',
      WEBHOOKS_INTERNAL_PORT: '0',
      WEBHOOKS_DATABASE_URL: database.url,
      WEBHOOKS_REDIS_URL: testRedis().url,
      WEBHOOKS_IDENTITY_URL: 'http://127.0.0.1:3001',
      WEBHOOKS_IDENTITY_JWT_SECRET: 'a-secret-of-the-identity-server-0123456789',
      WEBHOOKS_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
      WEBHOOKS_IDENTITY_EVENTS_SECRETS: `whsec_${randomBytes(32).toString('base64')}`,
      WEBHOOKS_INTERNAL_TOKENS: `pipeline:${'0'.repeat(64)}`,
    }
    try {
      const refused = await run([], { ...env, WEBHOOKS_BASE_URL: 'nowhere' })
      expect(refused).toMatchObject({ code: 1, out: '' })
      expect(refused.err).toContain('WEBHOOKS_BASE_URL')
      const { code, out } = await run([], env, 'listening')
      expect(jsonLines(out).map(({ msg }) => msg)).toEqual(['migrated', 'listening', 'draining', 'stopped'])
      expect(code).toBe(0)
    } finally {
      await database.drop()
    }
  })

  it('refuses a command it does not know', async () => {
    expect(await run(['dance'])).toMatchObject({ code: 2, err: expect.stringContaining('Usage') as unknown })
  })
})
