import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { aUser, expectError, get, post, type ApiAnswer, type Session } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { claimsOf } from './support/tokens.js'

const REUSE_INTERVAL_MS = 10_000

describe('the refresh grant', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '10s',
    })
  })
  afterAll(() => server.close())

  const refresh = (token: unknown, on: TestServer = server): Promise<ApiAnswer> =>
    post(on, '/token?grant_type=refresh_token', { refresh_token: token })
  const child = async (token: string): Promise<string> => {
    const answer = await refresh(token)
    expect(answer.status).toBe(200)
    return (answer.body as Session).refresh_token
  }
  const liveSessions = async (userId: string): Promise<number> => {
    const { rows } = await server.context.db.query<{ live: number }>(
      'select count(*)::int as live from sessions where user_id = $1 and revoked_at is null',
      [userId],
    )
    return rows[0]?.live ?? -1
  }

  /** Counts refresh statements only, because the outbox sender may query the database at any time. */
  const refreshStatements = (query: { mock: { calls: unknown[][] } }): number =>
    query.mock.calls.filter(([statement]) => (statement as { name?: string }).name?.startsWith('refresh'))
      .length

  it('rotates the refresh token and issues an access token with the same session, aal and amr', async () => {
    const user = await aUser(server)
    server.clock.advance(5000)
    const answer = await refresh(user.refresh_token)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.body).not.toHaveProperty('type')
    const [before, after] = [claimsOf(user.access_token), claimsOf(String(answer.body['access_token']))]
    expect(after).toEqual({ ...before, iat: Number(before['iat']) + 5, exp: Number(before['exp']) + 5 })
    expect(answer.body['refresh_token']).not.toBe(user.refresh_token)
    expect(answer.body['refresh_token']).toMatch(/^[\w-]{72}$/)
  })

  it('returns the same child for the parent of the active token inside the interval, and creates nothing', async () => {
    const user = await aUser(server)
    const next = await child(user.refresh_token)
    server.clock.advance(REUSE_INTERVAL_MS)
    expect(await child(user.refresh_token)).toBe(next)
    expect(await liveSessions(user.user.id)).toBe(1)
    expect(await child(next)).not.toBe(next)
  })

  it('treats the parent outside the interval as an attack and ends the session', async () => {
    const user = await aUser(server)
    const next = await child(user.refresh_token)
    server.clock.advance(REUSE_INTERVAL_MS + 1)
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
    expectError(await refresh(next), 400, 'refresh_token_already_used')
    expect(await liveSessions(user.user.id)).toBe(0)
  })

  it('returns the child again for the whole interval after an exchange that outlasted its request', async () => {
    const user = await aUser(server)
    const { outlasted } = await server.context.db.transaction(async (tx) => {
      await tx.query('lock table sessions in share mode')
      const pending = child(user.refresh_token)
      await lockWaiters(server.context.db, 1)
      server.clock.advance(REUSE_INTERVAL_MS + 5000)
      return { outlasted: pending }
    })
    const next = await outlasted
    server.clock.advance(REUSE_INTERVAL_MS - 1)
    expect(await child(user.refresh_token)).toBe(next)
    expect(await liveSessions(user.user.id)).toBe(1)
    server.clock.advance(2)
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
  })

  it('returns the child for a token that was the current one when the repetition came, past any interval', async () => {
    const user = await aUser(server)
    const { session_id: sessionId } = claimsOf(user.access_token)
    const { repeated } = await server.context.db.transaction(async (tx) => {
      // The state that an exchange leaves while its commit waits, for example for a standby that is gone.
      await tx.query(
        `update sessions set refresh_counter = refresh_counter + 1, refreshed_at = $2 where id = $1`,
        [sessionId, server.clock.now()],
      )
      const pending = child(user.refresh_token)
      await lockWaiters(server.context.db, 1)
      server.clock.advance(REUSE_INTERVAL_MS + 1)
      const later = child(user.refresh_token)
      await lockWaiters(server.context.db, 2)
      return { repeated: Promise.all([pending, later]) }
    })
    const [first, second] = await repeated
    expect(second).toBe(first)
    expect(await liveSessions(user.user.id)).toBe(1)
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
  })

  it.each([
    ['current', (user: Session) => Promise.resolve(user.refresh_token)],
    [
      'one before',
      async (user: Session) => {
        await child(user.refresh_token)
        return user.refresh_token
      },
    ],
  ])(
    'gives the token that is the %s the role that the user has once the session is free',
    async (_, tokenOf) => {
      const user = await aUser(server)
      const token = await tokenOf(user)
      const { db } = server.context
      await db.query(`update users set role = 'service_role' where id = $1`, [user.user.id])
      const { late } = await db.transaction(async (tx) => {
        await tx.query('select 1 from sessions where user_id = $1 for no key update', [user.user.id])
        const answer = refresh(token)
        await lockWaiters(server.context.db, 1)
        await db.query(`update users set role = 'authenticated' where id = $1`, [user.user.id])
        return { late: answer }
      })
      const { status, body } = await late
      expect(status).toBe(200)
      expect(claimsOf(body['access_token'])['role']).toBe('authenticated')
    },
  )

  it('treats a grandparent as an attack even inside the interval; the session ends although the request fails', async () => {
    const user = await aUser(server)
    const parent = await child(user.refresh_token)
    const newest = await child(parent)
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
    expect(await liveSessions(user.user.id)).toBe(0)
    for (const token of [user.refresh_token, parent, newest])
      expectError(await refresh(token), 400, 'refresh_token_already_used')
    expect(server.lines).toContainEqual(
      expect.objectContaining({
        msg: expect.stringContaining('refresh token reuse') as unknown,
        user_id: user.user.id,
      }),
    )
  })

  it('answers 20 parallel exchanges of one token with one child', async () => {
    const user = await aUser(server)
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(user.refresh_token)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    expect(new Set(answers.map(({ body }) => body['refresh_token'])).size).toBe(1)
    expect(await liveSessions(user.user.id)).toBe(1)
    expect((await refresh(answers[0]?.body['refresh_token'])).status).toBe(200)
  })

  it('ends a session once when old and current tokens are presented in parallel', async () => {
    const user = await aUser(server)
    const parent = await child(user.refresh_token)
    const newest = await child(parent)
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) => refresh(index % 2 === 0 ? user.refresh_token : newest)),
    )
    expect(answers.filter((_, index) => index % 2 === 0).every(({ status }) => status === 400)).toBe(true)
    expect(answers.every(({ status }) => status === 200 || status === 400)).toBe(true)
    expect(await liveSessions(user.user.id)).toBe(0)
  })

  it('does not report the token of a session that was logged out as an attack', async () => {
    const user = await aUser(server)
    await child(await child(user.refresh_token))
    await post(server, '/logout', undefined, { token: user.access_token })
    const before = server.lines.length
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_not_found')
    expect(server.lines.slice(before).filter(({ msg }) => msg.includes('reuse'))).toEqual([])
  })

  it('does not affect the user’s other sessions when it ends one', async () => {
    const user = await aUser(server)
    const other = await post(server, '/token?grant_type=password', {
      email: user.email,
      password: user.password,
    })
    const newest = await child(await child(user.refresh_token))
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
    expectError(await refresh(newest), 400, 'refresh_token_already_used')
    expect((await refresh(other.body['refresh_token'])).status).toBe(200)
  })

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['short', 'abc'],
    ['too short', 'A'.repeat(71)],
    ['garbage', '🤷'.repeat(20)],
    ['too long', 'x'.repeat(10_000)],
  ])('refuses a %s token as validation_failed', async (_, token) => {
    const query = jest.spyOn(server.context.db, 'query')
    expectError(await refresh(token), 400, 'validation_failed')
    expect(refreshStatements(query)).toBe(0)
    query.mockRestore()
  })

  it('queries the database once for an active token, and for another one once more, and for its user', async () => {
    const user = await aUser(server)
    const query = jest.spyOn(server.context.db, 'query')
    const transaction = jest.spyOn(server.context.db, 'transaction')
    await refresh(user.refresh_token)
    expect([refreshStatements(query), transaction.mock.calls.length]).toEqual([1, 0])
    await refresh(user.refresh_token)
    expect([refreshStatements(query), transaction.mock.calls.length]).toEqual([4, 0])
    query.mockRestore()
    transaction.mockRestore()
  })

  it('refuses a counter that no session can reach, without a query', async () => {
    const token = Buffer.concat([Buffer.alloc(16), Buffer.alloc(6, 255), Buffer.alloc(32)]).toString(
      'base64url',
    )
    expectError(await refresh(token), 400, 'validation_failed')
  })

  it('refuses an unknown token', async () => {
    expectError(await refresh('A'.repeat(72)), 400, 'refresh_token_not_found')
  })

  it('refuses a banned user with 400, so that clients do not retry', async () => {
    const user = await aUser(server)
    await server.context.db.query("update users set banned_until = 'infinity' where id = $1", [user.user.id])
    expectError(await refresh(user.refresh_token), 400, 'user_banned')
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'user_banned')
  })

  it('refuses a user who was deleted softly, even if the session is still open', async () => {
    const user = await aUser(server)
    await server.context.db.query('update users set deleted_at = now() where id = $1', [user.user.id])
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_not_found')
  })

  /** Clients of this protocol repeat a 503; for a 409 they drop the session. */
  const expectRepeatable = async (answer: ApiAnswer, token: string, on = server) => {
    expectError(answer, 503, 'unavailable')
    expect(answer.headers.get('retry-after')).toBe('1')
    expect((await refresh(token, on)).status).toBe(200)
  }

  it('answers 503 when the session stays locked', async () => {
    const hasty = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' }, { lockTimeoutMs: 1000 })
    const user = await aUser(hasty)
    const { session_id: sessionId } = claimsOf(user.access_token)
    const answer = await hasty.context.db.transaction(async (tx) => {
      await tx.query('select 1 from sessions where id = $1 for update', [sessionId])
      return refresh(user.refresh_token, hasty)
    })
    await expectRepeatable(answer, user.refresh_token, hasty)
    await hasty.close()
  })

  it.each<[string, () => Promise<{ rows: never[] }>]>([
    ['was changed by others in every round', () => Promise.resolve({ rows: [] })],
    ['is part of a deadlock', () => Promise.reject(Object.assign(new Error(), { code: '40P01' }))],
  ])('answers 503 when the session %s', async (_, lose) => {
    const user = await aUser(server)
    const { db } = server.context
    const real = db.query.bind(db)
    const isExchange = (name = '') => /^refresh_(passing|waiting)$/.test(name)
    const query = jest
      .spyOn(db, 'query')
      .mockImplementation(((statement: { name?: string }, values) =>
        isExchange(statement.name) ? lose() : real(statement as never, values)) as typeof db.query)
    const answer = await refresh(user.refresh_token)
    query.mockRestore()
    await expectRepeatable(answer, user.refresh_token)
  })

  it('writes token_refreshed and token_revoked to the audit log', async () => {
    const user = await aUser(server)
    await child(user.refresh_token)
    const { rows } = await server.context.db.query(
      `select payload ->> 'action' as action, payload ->> 'log_type' as type, payload ->> 'actor_username' as name
       from audit_log_entries where payload ->> 'actor_id' = $1 and payload ->> 'log_type' = 'token' order by 1`,
      [user.user.id],
    )
    expect(rows).toEqual([
      { action: 'token_refreshed', type: 'token', name: user.email },
      { action: 'token_revoked', type: 'token', name: user.email },
    ])
  })
})

describe('refresh with rotation disabled', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED: 'false',
    })
  })
  afterAll(() => server.close())

  it('returns the child for the parent at any time, and refuses older tokens without ending the session', async () => {
    const refresh = (token: unknown) =>
      post(server, '/token?grant_type=refresh_token', { refresh_token: token })
    const user = await aUser(server)
    const first = await refresh(user.refresh_token)
    server.clock.advance(3_600_000)
    expect((await refresh(user.refresh_token)).body['refresh_token']).toBe(first.body['refresh_token'])
    const second = await refresh(first.body['refresh_token'])
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
    expect((await refresh(second.body['refresh_token'])).status).toBe(200)
  })
})
