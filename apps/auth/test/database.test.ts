import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { databaseNow } from '@signet/db'
import { createTestDatabase, lockWaiters } from '@signet/testkit'
import pg from 'pg'
import { migrateDatabase } from '../src/migrations.js'
import { anEmail, aUser, call, get, PASSWORD, post, put } from './support/api.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

describe('migrations', () => {
  it('are safe when replicas start in parallel, and are reported once', async () => {
    const database = await createTestDatabase({ key: 'auth:empty', migrate: () => Promise.resolve() })
    try {
      const target = { databaseUrl: database.url, dbNamespace: '' }
      const applied = await Promise.all([1, 2, 3].map(() => migrateDatabase(target)))
      const names = applied.flat()
      expect(names.length).toBeGreaterThan(0)
      expect(new Set(names).size).toBe(names.length)
      expect(await migrateDatabase(target)).toEqual([])
    } finally {
      await database.drop()
    }
  })

  it('give each namespace tables of its own in one database, and the service works on them', async () => {
    const server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_DB_NAMESPACE: 'Ns1' })
    try {
      const user = await aUser(server)
      expect((await get(server, '/user', { token: user.access_token })).status).toBe(200)
      expect(
        (await get(server, '/admin/users', { token: serviceToken() })).headers.get('x-total-count'),
      ).toBe('1')
      const { rows } = await server.context.db.query<{ name: string }>(
        `select tablename as name from pg_tables where schemaname = 'public'
         union all select indexname from pg_indexes where schemaname = 'public'`,
      )
      expect(rows.filter(({ name }) => !/^ns1_/i.test(name))).toEqual([])
      await migrateDatabase({ databaseUrl: server.databaseUrl, dbNamespace: 'ns2' })
      const users = await server.context.db.query('select 1 from ns2_users')
      expect(users.rows).toEqual([])
    } finally {
      await server.close()
    }
  })
})

describe('what is stored', () => {
  it('contains no token, code or password in plain text', async () => {
    const server = await startServer({ ...NO_EMAIL_GAPS })
    try {
      const user = await aUser(server)
      await post(server, '/recover', { email: user.email })
      const mail = await server.inbox.waitForMail({ to: user.email, subject: 'Reset your password' })
      const token = new URL(mail.links[0] ?? '').searchParams.get('token') ?? ''
      const code = /\b(\d{6})\b/.exec(mail.text || mail.html)?.[1] ?? ''
      const client = new pg.Client({ connectionString: server.databaseUrl })
      await client.connect()
      const { rows: tables } = await client.query<{ name: string }>(
        `select tablename as name from pg_tables where schemaname = 'public'`,
      )
      for (const { name } of tables) {
        const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`)
        for (const { row } of rows) {
          expect(row).not.toContain(token)
          expect(row).not.toContain(Buffer.from(token).toString('hex'))
          expect(row).not.toContain(user.refresh_token)
          expect(row).not.toContain(user.password)
          if (name === 'one_time_tokens') expect(row.split(',')).not.toContain(code)
        }
      }
      await client.end()
    } finally {
      await server.close()
    }
  })
})

describe('the clean-up', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    })
  })
  afterAll(() => server.close())
  const count = async (table: string, userId: unknown): Promise<number> => {
    const { rows } = await server.context.db.query<{ n: number }>(
      `select count(*)::int as n from ${table} where ${table === 'users' ? 'id' : 'user_id'} = $1`,
      [userId],
    )
    return rows[0]?.n ?? -1
  }
  const cleanUpAfter = async (ms: number) => {
    server.clock.advance(ms)
    await server.context.cleanup.run()
  }

  it('deletes sessions a month after they ended or 72 hours after they expired, and never an open one', async () => {
    const [loggedOut, ended, live] = [await aUser(server), await aUser(server), await aUser(server)]
    await post(server, '/logout', undefined, { token: loggedOut.access_token })
    await server.context.db.query('update sessions set not_after = $2 where user_id = $1', [
      ended.user.id,
      server.clock.now(),
    ])
    await cleanUpAfter(3 * DAY)
    expect(await count('sessions', ended.user.id)).toBe(1)
    await cleanUpAfter(1)
    expect(await count('sessions', ended.user.id)).toBe(0)
    await cleanUpAfter(27 * DAY - 1)
    expect(await count('sessions', loggedOut.user.id)).toBe(1)
    await cleanUpAfter(1)
    expect(await count('sessions', loggedOut.user.id)).toBe(0)
    expect(await count('sessions', live.user.id)).toBe(1)
  })

  it('deletes flows, challenges and unverified factors after a day', async () => {
    const user = await aUser(server)
    await server.context.db.query(
      `insert into flow_state (id, user_id, provider_type, authentication_method, created_at, updated_at)
       values ($1, $2, 'email', 'magiclink', $3, $3)`,
      [randomUUID(), user.user.id, server.clock.now()],
    )
    await server.context.db.query(
      `insert into mfa_factors (id, user_id, factor_type, status, friendly_name, created_at, updated_at)
       select gen_random_uuid(), $1, 'totp', s, s, $2, $2 from unnest(array['verified', 'unverified']) s`,
      [user.user.id, server.clock.now()],
    )
    await server.context.db.query(
      `insert into mfa_challenges (id, factor_id, ip_address, created_at)
       select gen_random_uuid(), id, '127.0.0.1', $2::timestamptz from mfa_factors where user_id = $1 and status = 'verified'`,
      [user.user.id, server.clock.now()],
    )
    const challenges = async () => (await server.context.db.query('select 1 from mfa_challenges')).rows.length
    await cleanUpAfter(DAY)
    expect([await count('flow_state', user.user.id), await challenges()]).toEqual([1, 1])
    await cleanUpAfter(1)
    expect([await count('flow_state', user.user.id), await challenges()]).toEqual([0, 0])
    expect(await count('mfa_factors', user.user.id)).toBe(1)
  })

  it('deletes anonymous users after 30 days, and nobody else', async () => {
    const anonymous = (await post(server, '/signup', {})).body
    const user = await aUser(server)
    await cleanUpAfter(30 * DAY)
    expect(await count('users', anonymous['id'])).toBe(1)
    await cleanUpAfter(1)
    expect(await count('users', anonymous['id'])).toBe(0)
    expect(await count('users', user.user.id)).toBe(1)
  })

  it('deletes audit log entries and never-confirmed users after their retention, and nobody else', async () => {
    const forgetful = await startServer({
      AUTH_AUDIT_LOG_RETENTION: '240h',
      AUTH_UNCONFIRMED_USER_RETENTION: '48h',
    })
    try {
      const { context, clock } = forgetful
      const admin = { token: serviceToken() }
      const user = await aUser(forgetful)
      const signUp = async () =>
        String((await post(forgetful, '/signup', { email: anEmail(), password: PASSWORD })).body['id'])
      await signUp()
      const vouchedFor = await signUp()
      await put(forgetful, `/admin/users/${vouchedFor}`, { email_confirm: true }, admin)
      const erased = await signUp()
      await call(forgetful, 'DELETE', `/admin/users/${erased}`, {
        ...admin,
        body: { should_soft_delete: true },
      })
      const { body: made } = await post(forgetful, '/admin/users', { email: anEmail() }, admin)
      const left = async (table: string) =>
        (await context.db.query<{ n: number }>(`select count(*)::int as n from ${table}`)).rows[0]?.n
      const cleanUpAt = async (ms: number) => {
        clock.advance(ms)
        await context.cleanup.run()
      }
      await cleanUpAt(2 * DAY)
      expect(await left('users')).toBe(5)
      await cleanUpAt(1)
      const { rows } = await context.db.query<{ id: string }>('select id from users')
      expect(rows.map(({ id }) => id).sort()).toEqual(
        [user.user.id, vouchedFor, erased, String(made['id'])].sort(),
      )
      await cleanUpAt(8 * DAY - 1)
      expect(await left('audit_log_entries')).toBeGreaterThan(0)
      await cleanUpAt(1)
      expect(await left('audit_log_entries')).toBe(0)
    } finally {
      await forgetful.close()
    }
  })

  it('goes by the clock of the database: with another one a month ahead it deletes nothing', async () => {
    const fast = await startServer(
      {
        AUTH_AUDIT_LOG_RETENTION: '240h',
        AUTH_UNCONFIRMED_USER_RETENTION: '48h',
        AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      },
      { databaseNow },
    )
    try {
      const { context, clock } = fast
      const user = await aUser(fast)
      await post(fast, '/signup', { email: anEmail(), password: PASSWORD })
      await post(fast, '/signup', {})
      await post(fast, '/logout', undefined, { token: user.access_token })
      const tables = ['users', 'sessions', 'audit_log_entries']
      const rows = async () =>
        (
          await context.db.query(
            `select ${tables.map((table) => `(select count(*)::int from ${table}) as ${table}`).join(', ')}`,
          )
        ).rows
      const before = await rows()
      clock.advance(31 * DAY)
      await context.cleanup.run()
      expect(await rows()).toEqual(before)
    } finally {
      await fast.close()
    }
  })

  it('skips locked rows and deletes them in the next run', async () => {
    const user = await aUser(server)
    await post(server, '/logout', undefined, { token: user.access_token })
    server.clock.advance(31 * DAY)
    await server.context.db.transaction(async (tx) => {
      await tx.query('select 1 from sessions where user_id = $1 for update', [user.user.id])
      await server.context.cleanup.run()
    })
    expect(await count('sessions', user.user.id)).toBe(1)
    await server.context.cleanup.run()
    expect(await count('sessions', user.user.id)).toBe(0)
  })

  it('ends with the batch that it is in when the process stops', async () => {
    const user = await aUser(server)
    const { db, cleanup } = server.context
    await db.query(
      `insert into sessions (id, user_id, aal, created_at, updated_at, amr, refresh_salt, not_after)
       select gen_random_uuid(), $1, 'aal1', $2, $2, '[]', sha256('salt'), $2 from generate_series(1, 1200)`,
      [user.user.id, new Date(server.clock.now().getTime() - 40 * DAY)],
    )
    const stop = new AbortController()
    const { run } = await db.transaction(async (tx) => {
      await tx.query('lock table sessions in share mode')
      const pending = cleanup.run(stop.signal)
      await lockWaiters(server.context.db, 1)
      stop.abort()
      return { run: pending }
    })
    await run
    expect(await count('sessions', user.user.id)).toBe(1201 - 500)
    await cleanup.run()
  })

  it('runs in one process at a time', async () => {
    const user = await aUser(server)
    await post(server, '/logout', undefined, { token: user.access_token })
    server.clock.advance(31 * DAY)
    await server.context.db.connection(async (connection) => {
      await connection.query(`select pg_advisory_lock(hashtextextended('signet-auth-cleanup', 0))`)
      await server.context.cleanup.run()
      expect(await count('sessions', user.user.id)).toBe(1)
      await connection.query(`select pg_advisory_unlock(hashtextextended('signet-auth-cleanup', 0))`)
    })
  })
})
