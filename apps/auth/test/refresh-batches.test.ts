import { afterAll, beforeAll, expect, it, jest } from '@jest/globals'
import { aUser, type Session } from './support/api.js'
import { META } from './support/meta.js'
import { startServer, type TestServer } from './support/server.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
})
afterAll(() => server.close())

/** Calls the service directly, because requests over HTTP may arrive in any order. */
const refresh = (token: string) => server.context.refresh.refresh(token, META)
const outcome = (token: string): Promise<string> =>
  refresh(token).then(
    () => 'refreshed',
    (error: unknown) => (error as { code: string }).code,
  )
const sessionIdIn = (token: string): string => Buffer.from(token, 'base64url').toString('hex', 0, 16)

async function aSession(): Promise<Session & { id: string }> {
  const user = await aUser(server)
  const { refresh_token: id } = user
  return { ...user, id: sessionIdIn(id) }
}

it('answers each token of a batch separately, and holds none of them up for a locked session', async () => {
  const { db } = server.context
  const [opener, forged, reused, banned, locked, good, alsoGood] = await Promise.all(
    Array.from({ length: 7 }, aSession),
  )
  if (!opener || !forged || !reused || !banned || !locked || !good || !alsoGood) throw new Error('too few')
  const { refreshToken: parent } = await refresh(reused.refresh_token)
  await refresh(parent)
  await db.query("update users set banned_until = 'infinity' where id = $1", [banned.user.id])
  const isA = forged.refresh_token.endsWith('A')
  const guess = `${forged.refresh_token.slice(0, -1)}${isA ? 'B' : 'A'}`

  const query = jest.spyOn(db, 'query')
  const inBatch = [guess, reused, banned, good, locked, alsoGood].map((one) =>
    typeof one === 'string' ? one : one.refresh_token,
  )
  const lateAnswer = await db.transaction(async (tx) => {
    await tx.query('select 1 from sessions where id = $1 for update', [locked.id])
    // The first is sent alone; those that arrive meanwhile share the next statement.
    const first = outcome(opener.refresh_token)
    const answers = inBatch.map(outcome)
    expect(await Promise.all([first, ...answers.filter((_, index) => index !== 4)])).toEqual([
      'refreshed',
      'refresh_token_not_found',
      'refresh_token_already_used',
      'user_banned',
      'refreshed',
      'refreshed',
    ])
    return { settled: answers[4] }
  })
  expect(await lateAnswer.settled).toBe('refreshed')

  const batches = query.mock.calls
    .filter(([statement]) => (statement as { name?: string }).name === 'refresh_passing')
    .map(([, values]) => (values?.[6] as string[]).map((id) => id.replaceAll('-', '')))
  query.mockRestore()
  // A statement that waited for the lock would fail after five seconds, and each of its tokens would be tried again.
  expect(batches).toEqual([[opener.id], inBatch.map(sessionIdIn)])
  const { rows } = await db.query<{ reason: string | null; audited: number }>(
    `select s.revoked_reason as reason, (select count(*)::int from audit_log_entries a
       where a.payload ->> 'action' = 'session_revoked' and a.payload -> 'traits' ->> 'session_id' = s.id::text) as audited
     from sessions s where s.id = any ($1::uuid[]) order by array_position($1::uuid[], s.id)`,
    [[reused.id, forged.id, banned.id, locked.id]],
  )
  expect(rows).toEqual([
    { reason: 'reuse', audited: 1 },
    { reason: null, audited: 0 },
    { reason: null, audited: 0 },
    { reason: null, audited: 0 },
  ])
  // The forged token neither advanced nor ended its session.
  expect(await outcome(forged.refresh_token)).toBe('refreshed')
})

it('has PostgreSQL plan what runs all the time once for each connection', async () => {
  const single = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true', AUTH_DB_MAX_POOL_SIZE: '1' })
  try {
    let { refresh_token: token } = await aUser(single)
    for (let turn = 0; turn < 7; turn += 1)
      ({ refreshToken: token } = await single.context.refresh.refresh(token, META))
    const { rows } = await single.context.db.query<{ name: string; custom: boolean }>(
      `select name, custom_plans > 0 as custom from pg_prepared_statements`,
    )
    expect(rows).toContainEqual({ name: 'refresh_passing', custom: false })
    expect(rows.filter(({ custom }) => custom)).toEqual([])
  } finally {
    await single.close()
  }
})
