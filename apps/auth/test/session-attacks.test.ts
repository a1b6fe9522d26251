import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aUser,
  call,
  expectError,
  get,
  PASSWORD,
  post,
  put,
  type ApiAnswer,
  type Session,
  type SignedUp,
} from './support/api.js'
import { lockWaiters } from '@signet/testkit'
import { FACTOR_ENVIRONMENT, factorSteps } from './support/factors.js'
import { JWT_SECRET, startServer, type TestServer } from './support/server.js'
import { claimsOf, serviceToken, tokenOf } from './support/tokens.js'

const HOUR_MS = 3_600_000

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    ...FACTOR_ENVIRONMENT,
    AUTH_JWT_EXP: '48h',
    AUTH_JWT_ADMIN_ROLES: 'supervisor,service_role',
  })
})
afterAll(() => server.close())

const steps = factorSteps(() => server)
const refresh = (token: unknown, on: { url: string } = server): Promise<ApiAnswer> =>
  post(on, '/token?grant_type=refresh_token', { refresh_token: token })
const childOf = async (token: unknown): Promise<string> => {
  const answer = await refresh(token)
  expect(answer.status).toBe(200)
  return String(answer.body['refresh_token'])
}
const signIn = (email: string, password = PASSWORD) =>
  post(server, '/token?grant_type=password', { email, password })
const endOf = async (token: string): Promise<string | null> => {
  const { rows } = await server.context.db.query<{ reason: string | null }>(
    'select revoked_reason as reason from sessions where id = $1 and revoked_at is not null',
    [claimsOf(token)['session_id']],
  )
  return rows[0]?.reason ?? null
}
const administer = (userId: string, body: object) =>
  put(server, `/admin/users/${userId}`, body, { token: serviceToken(), versioned: true })

describe('a stolen refresh token', () => {
  it('ends the session of the party that used it first, no matter how late the other copy is used', async () => {
    const victim = await aUser(server)
    let thiefs = victim.refresh_token
    for (let hours = 0; hours < 25; hours += 5) {
      thiefs = await childOf(thiefs)
      server.clock.advance(5 * HOUR_MS)
      await server.context.cleanup.run()
    }
    server.clock.advance(60 * 24 * HOUR_MS)
    await server.context.cleanup.run()
    expectError(await refresh(victim.refresh_token), 400, 'refresh_token_already_used')
    expectError(await refresh(thiefs), 400, 'refresh_token_already_used')
    expect(await endOf(victim.access_token)).toBe('reuse')
  })

  it('is worthless after the clean-up has deleted its session', async () => {
    const victim = await aUser(server)
    const newest = await childOf(await childOf(victim.refresh_token))
    expectError(await refresh(victim.refresh_token), 400, 'refresh_token_already_used')
    server.clock.advance(400 * 24 * HOUR_MS)
    await server.context.cleanup.run()
    expect(await endOf(victim.access_token)).toBeNull()
    for (const token of [victim.refresh_token, newest])
      expectError(await refresh(token), 400, 'refresh_token_not_found')
  })

  it('cannot be forged from the session id in an access token', async () => {
    const victim = await aUser(server)
    const sessionId = String(claimsOf(victim.access_token)['session_id'])
    const newest = await childOf(await childOf(victim.refresh_token))
    const [genuine, before] = [newest, victim.refresh_token].map((token) => Buffer.from(token, 'base64url'))
    const id = Buffer.from(sessionId.replaceAll('-', ''), 'hex')
    for (let counter = 0; counter < 4; counter += 1) {
      for (const mac of [randomBytes(32), Buffer.alloc(32), genuine?.subarray(22), before?.subarray(22)]) {
        const forged = Buffer.concat([id, Buffer.from([0, 0, 0, 0, 0, counter]), mac ?? Buffer.alloc(0)])
        const token = forged.toString('base64url')
        if (token === newest || token === victim.refresh_token) continue
        expectError(await refresh(token), 400, 'refresh_token_not_found')
      }
    }
    expect(await endOf(victim.access_token)).toBeNull()
    expect((await refresh(newest)).status).toBe(200)
  })

  it('is worthless once AUTH_JWT_SECRET has changed (decision 0033)', async () => {
    const user = await aUser(server)
    const other = await startServer({
      AUTH_JWT_SECRET: `another-${JWT_SECRET}`,
      DATABASE_URL: server.databaseUrl,
    })
    try {
      expectError(await refresh(user.refresh_token, other), 400, 'refresh_token_not_found')
    } finally {
      await other.close()
    }
    expect((await refresh(user.refresh_token)).status).toBe(200)
  })

  it('does not let a factor revive a session that ended for reuse', async () => {
    const victim = await aUser(server)
    const other = (await signIn(victim.email)).body as Session
    const factor = await steps.enroll(victim)
    const challenge = await steps.challenge(victim, factor.id)
    await childOf(await childOf(victim.refresh_token))
    expectError(await refresh(victim.refresh_token), 400, 'refresh_token_already_used')
    const thief = { token: victim.access_token }
    expectError(await post(server, '/factors', { factor_type: 'totp' }, thief), 403, 'session_not_found')
    expectError(await post(server, `/factors/${factor.id}/challenge`, {}, thief), 403, 'session_not_found')
    const answer = { challenge_id: challenge, code: steps.codeOf(factor) }
    expectError(await steps.verify(victim, factor.id, answer), 403, 'session_not_found')
    expect((await refresh(other.refresh_token)).status).toBe(200)
  })

  it('leaves one audit entry and ends the session once, even in parallel', async () => {
    const victim = await aUser(server)
    await childOf(await childOf(victim.refresh_token))
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(victim.refresh_token)))
    for (const answer of answers) expectError(answer, 400, 'refresh_token_already_used')
    const { rows } = await server.context.db.query(
      `select payload -> 'traits' as traits from audit_log_entries
       where payload ->> 'actor_id' = $1 and payload ->> 'action' = 'session_revoked'`,
      [victim.user.id],
    )
    const sessionId = claimsOf(victim.access_token)['session_id']
    expect(rows).toEqual([{ traits: { session_id: sessionId, reason: 'reuse' } }])
  })
})

describe('a session that has ended', () => {
  it('answers refresh_token_not_found after an ordinary logout', async () => {
    const user = await aUser(server)
    const next = await childOf(user.refresh_token)
    await post(server, '/logout?scope=local', undefined, { token: user.access_token })
    for (const token of [user.refresh_token, next])
      expectError(await refresh(token), 400, 'refresh_token_not_found')
    expect(await endOf(user.access_token)).toBe('logout')
  })

  it('cannot sign out other sessions', async () => {
    const user = await aUser(server)
    await post(server, '/logout?scope=local', undefined, { token: user.access_token })
    const later = (await signIn(user.email)).body as Session
    for (const scope of ['global', 'others'])
      expectError(
        await post(server, `/logout?scope=${scope}`, undefined, { token: user.access_token }),
        403,
        'session_not_found',
      )
    const again = await post(server, '/logout?scope=local', undefined, { token: user.access_token })
    expect(again.status).toBe(204)
    expect((await refresh(later.refresh_token)).status).toBe(200)
  })

  it('stays ended when a ban is lifted', async () => {
    const user = await aUser(server)
    await administer(user.user.id, { ban_duration: '1h' })
    expectError(await refresh(user.refresh_token), 400, 'user_banned')
    expect(await endOf(user.access_token)).toBe('ban')
    await administer(user.user.id, { ban_duration: 'none' })
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_not_found')
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'session_not_found')
    expect((await signIn(user.email)).status).toBe(200)
  })

  it('can read the user only if it ended by sign-out', async () => {
    const user = await aUser(server)
    await childOf(await childOf(user.refresh_token))
    expect((await get(server, '/user', { token: user.access_token })).status).toBe(200)
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'session_not_found')
  })

  it('changes nothing through a request that was in flight when it ended', async () => {
    const user = await aUser(server)
    const change = await server.context.db.transaction(async (tx) => {
      await tx.query('select 1 from users where id = $1 for update', [user.user.id])
      const answer = put(server, '/user', { password: 'a new password' }, { token: user.access_token })
      await lockWaiters(server.context.db, 1)
      await tx.query('update sessions set revoked_at = now(), revoked_reason = $2 where user_id = $1', [
        user.user.id,
        'logout',
      ])
      return { answer }
    })
    expectError(await change.answer, 403, 'session_not_found')
    expect((await signIn(user.email)).status).toBe(200)
  })
})

it.each<[string, (user: SignedUp) => Promise<ApiAnswer>, number]>([
  ['refresh', (user) => refresh(user.refresh_token), 400],
  [
    'logout of its own session',
    (user) => post(server, '/logout?scope=local', undefined, { token: user.access_token }),
    403,
  ],
])('a %s that waits for a ban is told of the ban', async (_, request, status) => {
  const user = await aUser(server)
  const late = await server.context.db.transaction(async (tx) => {
    await tx.query(`update users set banned_until = 'infinity' where id = $1`, [user.user.id])
    await tx.query(`update sessions set revoked_at = now(), revoked_reason = 'ban' where user_id = $1`, [
      user.user.id,
    ])
    const answer = request(user)
    await lockWaiters(server.context.db, 1)
    return { answer }
  })
  expectError(await late.answer, status, 'user_banned')
})

describe('a second factor', () => {
  it('gives the upgraded session to a tab with the previous token, inside the interval', async () => {
    const user = await aUser(server)
    const raised = await steps.raise(user, await steps.enroll(user))
    server.clock.set(new Date(server.clock.now().getTime() - 25_000))
    const answer = await refresh(user.refresh_token)
    expect(answer.body).toMatchObject({ refresh_token: raised.refresh_token })
    expect(claimsOf(answer.body['access_token'])['aal']).toBe('aal2')
    server.clock.advance(25_000)
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
    expectError(await refresh(raised.refresh_token), 400, 'refresh_token_already_used')
  })

  it('gives it also to a tab that refreshed just before, and repeats that inside the interval', async () => {
    const user = await aUser(server)
    const factor = await steps.enroll(user)
    const between = (await refresh(user.refresh_token)).body as Session
    const raised = await steps.raise(user, factor)
    server.clock.set(new Date(server.clock.now().getTime() - 25_000))
    for (const token of [user.refresh_token, between.refresh_token]) {
      const answer = await refresh(token)
      expect(answer.body).toMatchObject({ refresh_token: raised.refresh_token })
      expect(claimsOf(answer.body['access_token'])['aal']).toBe('aal2')
    }
    expect((await refresh(raised.refresh_token)).status).toBe(200)
    // This token is two exchanges old, whatever happened in between.
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
  })

  it('gives it to tabs with any token since the last exchange, after two in a row', async () => {
    const user = await aUser(server)
    const factor = await steps.enroll(user)
    const strong = await steps.raise(user, factor)
    const made = await post(server, '/recovery-codes', {}, { token: strong.access_token })
    const first = (await signIn(user.email)).body as Session
    const second = (await refresh(first.refresh_token)).body as Session
    const raised = await steps.raise(second, factor)
    server.clock.set(new Date(server.clock.now().getTime() - 25_000))
    const code = (made.body['codes'] as string[])[0]
    const again = await post(server, '/recovery-codes/verify', { code }, { token: raised.access_token })
    expect(again.status).toBe(200)
    for (const { refresh_token: token } of [first, second, raised])
      expect((await refresh(token)).body).toMatchObject({ refresh_token: again.body['refresh_token'] })
    // Each token has its own interval: the second proof does not prolong that of a token which the first proof superseded.
    server.clock.advance(6000)
    expect((await refresh(raised.refresh_token)).body).toMatchObject({
      refresh_token: again.body['refresh_token'],
    })
    expectError(await refresh(second.refresh_token), 400, 'refresh_token_already_used')
  })

  it('ends the session for the token before that, once the interval is over', async () => {
    const user = await aUser(server)
    const factor = await steps.enroll(user)
    expect((await refresh(user.refresh_token)).status).toBe(200)
    const raised = await steps.raise(user, factor)
    server.clock.advance(25_000)
    expectError(await refresh(user.refresh_token), 400, 'refresh_token_already_used')
    expectError(await refresh(raised.refresh_token), 400, 'refresh_token_already_used')
  })
})

describe('an administrator', () => {
  const anAdministrator = async () => {
    const chief = await aUser(server)
    await administer(chief.user.id, { role: 'supervisor' })
    const { body } = await refresh(chief.refresh_token)
    return { ...chief, ...(body as Session) }
  }
  const list = (token: string) => get(server, '/admin/users', { token })

  it('who was demoted is refused at once', async () => {
    const chief = await anAdministrator()
    expect((await list(chief.access_token)).status).toBe(200)
    await administer(chief.user.id, { role: 'authenticated' })
    expectError(await list(chief.access_token), 403, 'not_admin')
    expectError(
      await post(server, '/invite', { email: anEmail() }, { token: chief.access_token }),
      403,
      'not_admin',
    )
    expectError(
      await put(server, '/user', { app_metadata: { plan: 'gold' } }, { token: chief.access_token }),
      403,
      'not_admin',
    )
  })

  it('has the role in the database, not the one in an old token', async () => {
    const user = await aUser(server)
    const { session_id: sessionId, ...claims } = claimsOf(user.access_token)
    const role = 'supervisor'
    expectError(await list(tokenOf({ ...claims, session_id: sessionId, role })), 403, 'not_admin')
    expectError(await list(tokenOf({ ...claims, role })), 403, 'session_not_found')
  })

  it('with a second factor must have used it', async () => {
    const chief = await anAdministrator()
    const factor = await steps.enroll(chief)
    await steps.raise(chief, factor)
    const low = (await signIn(chief.email)).body as Session
    const change = { app_metadata: { plan: 'gold' } }
    expectError(await put(server, '/user', change, { token: low.access_token }), 401, 'insufficient_aal')
    expectError(await list(low.access_token), 401, 'insufficient_aal')
    expectError(
      await call(server, 'DELETE', `/admin/users/${chief.user.id}/factors/${factor.id}`, {
        token: low.access_token,
      }),
      401,
      'insufficient_aal',
    )
  })
})
