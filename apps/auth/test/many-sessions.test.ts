import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { aUser, call, expectError, post, type SignedUp } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const DAY_MS = 86_400_000

let server: TestServer
beforeAll(async () => {
  server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
})
afterAll(() => server.close())

/** Adds sessions that were used long before any other. */
async function add({ user }: SignedUp, count: number, reason: string | null): Promise<void> {
  const at = new Date(server.clock.now().getTime() - DAY_MS)
  await server.context.db.query(
    `insert into sessions (id, user_id, aal, created_at, updated_at, amr, refresh_salt, revoked_at, revoked_reason)
     select gen_random_uuid(), $1, 'aal1', $2::timestamptz, $2, '[]', sha256('salt'), case when $4::text is not null then $2::timestamptz end, $4::text
     from generate_series(1, $3)`,
    [user.id, at, count, reason],
  )
}
async function countOf({ user }: SignedUp): Promise<Record<string, number>> {
  const { rows } = await server.context.db.query<{ reason: string; n: number }>(
    `select coalesce(revoked_reason, 'open') as reason, count(*)::int as n from sessions where user_id = $1 group by 1`,
    [user.id],
  )
  return Object.fromEntries(rows.map(({ reason, n }) => [reason, n]))
}
const signIn = ({ email, password }: SignedUp) =>
  post(server, '/token?grant_type=password', { email, password })
const refresh = ({ refresh_token: token }: SignedUp) =>
  post(server, '/token?grant_type=refresh_token', { refresh_token: token })
const deletionOf = ({ user }: SignedUp) =>
  call(server, 'DELETE', `/admin/users/${user.id}`, { token: serviceToken(), body: {} })
/** Makes every deletion of this row fail, as if it took longer than a statement may. */
const keep = (table: string, id: string) =>
  server.context.db.query(`
    create function keep_${table}() returns trigger language plpgsql as $$ begin raise 'it takes too long'; end $$;
    create trigger keep before delete on ${table} for each row when (old.id = '${id}') execute function keep_${table}()`)
const release = (table: string) => server.context.db.query(`drop function keep_${table} cascade`)

describe('open sessions of one user', () => {
  it('are a thousand at most: a sign-in ends those used longest ago, and their clients learn it', async () => {
    const user = await aUser(server)
    await add(user, 1004, null)
    expect((await signIn(user)).status).toBe(200)
    expect(await countOf(user)).toEqual({ open: 1000, too_many: 6 })
    expect((await refresh(user)).status).toBe(200)
    await server.context.db.query(
      `update sessions set revoked_at = now(), revoked_reason = 'too_many' where user_id = $1 and refresh_counter > 0`,
      [user.user.id],
    )
    expectError(await refresh(user), 400, 'session_expired')
  })

  it('are few enough to end at once', async () => {
    const user = await aUser(server)
    await add(user, 1200, null)
    await signIn(user)
    await call(server, 'PUT', `/admin/users/${user.user.id}`, {
      token: serviceToken(),
      body: { ban_duration: '24h' },
    })
    expect(await countOf(user)).toEqual({ too_many: 202, ban: 1000 })
  })
})

describe('an account with very many ended sessions', () => {
  it('loses them in batches before an administrator’s request deletes the account', async () => {
    const user = await aUser(server)
    await add(user, 2500, 'logout')
    const { removing } = await server.context.db.transaction(async (tx) => {
      await tx.query('select 1 from users where id = $1 for update', [user.user.id])
      const pending = deletionOf(user)
      await lockWaiters(server.context.db, 1)
      expect(await countOf(user)).toEqual({ open: 1 })
      return { removing: pending }
    })
    expect(await removing).toMatchObject({ status: 200 })
    expect(await countOf(user)).toEqual({})
  })

  it('loses them in batches before the clean-up deletes the account', async () => {
    const user = await aUser(server)
    await add(user, 2500, 'logout')
    const { db, cleanup } = server.context
    await db.query('update users set deletion_due_at = $2 where id = $1', [user.user.id, server.clock.now()])
    await db.transaction(async (tx) => {
      await tx.query('select 1 from users where id = $1 for update', [user.user.id])
      await cleanup.run()
    })
    expect(await countOf(user)).toEqual({ open: 1 })
    await cleanup.run()
    expect(await countOf(user)).toEqual({})
  })
})

describe('a clean-up that cannot delete something', () => {
  const failures = () => server.lines.filter(({ msg }) => msg.startsWith('the clean-up failed')).length

  it('reports an account and goes on with the others', async () => {
    const { db, cleanup } = server.context
    const [stuck, next] = [await aUser(server), await aUser(server)]
    await db.query('update users set deletion_due_at = $2 where id = any($1)', [
      [stuck.user.id, next.user.id],
      server.clock.now(),
    ])
    await keep('users', stuck.user.id)
    const before = failures()
    await cleanup.run()
    await release('users')
    const { rows } = await db.query('select id from users where id = any($1)', [
      [stuck.user.id, next.user.id],
    ])
    expect(rows).toEqual([{ id: stuck.user.id }])
    expect(failures() - before).toBe(1)
    await cleanup.run()
  })

  it('reports a table and goes on with the others', async () => {
    const { db, cleanup } = server.context
    const user = await aUser(server)
    await post(server, '/logout', undefined, { token: user.access_token })
    const { rows: sessions } = await db.query<{ id: string }>('select id from sessions where user_id = $1', [
      user.user.id,
    ])
    await db.query(`insert into webauthn_spent_challenges (id, expires_at) values (gen_random_uuid(), $1)`, [
      server.clock.now(),
    ])
    server.clock.advance(60 * DAY_MS)
    await keep('sessions', sessions[0]?.id ?? '')
    const before = failures()
    await cleanup.run()
    await release('sessions')
    const { rows } = await db.query('select 1 as found from webauthn_spent_challenges')
    expect(rows).toEqual([])
    expect(failures() - before).toBe(1)
    await cleanup.run()
    expect(await countOf(user)).toEqual({})
  })
})
