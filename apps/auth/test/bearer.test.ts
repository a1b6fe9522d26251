import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { authRoutes } from '../src/app.js'
import { aUser, call, expectError, UUID, type SignedUp } from './support/api.js'
import { PASSKEY_ENVIRONMENT } from './support/passkeys.js'
import { startServer, type TestServer } from './support/server.js'
import { claimsOf, tokenOf } from './support/tokens.js'

const endedBy = (reason: string) =>
  `update sessions set revoked_at = now(), revoked_reason = '${reason}' where user_id = $1`

/** What may happen to a user while a token is in use, and how endpoints answer the token afterward. */
const STATES: [string, string, string][] = [
  ['was banned', `update users set banned_until = 'infinity' where id = $1`, 'user_banned'],
  ['was logged out', endedBy('logout'), 'session_not_found'],
  ['lost the session to a thief', endedBy('reuse'), 'session_not_found'],
  ['lost the session', 'delete from sessions where user_id = $1', 'session_not_found'],
  ['was deleted', 'delete from users where id = $1', 'user_not_found'],
  ['was deleted softly', 'update users set deleted_at = now() where id = $1', 'user_not_found'],
]

/** Limits that a session may exceed before its access token expires. */
const LIMITS: [string, string][] = [
  ['its own end', `update sessions set not_after = 'epoch' where user_id = $1`],
  ['the timebox', `update sessions set created_at = created_at - interval '1 day' where user_id = $1`],
  [
    'the inactivity timeout',
    `update sessions set refreshed_at = created_at - interval '4 hours' where user_id = $1`,
  ],
]

describe('the token of a user', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
      AUTH_RATE_LIMIT_OTP: '100000',
      ...PASSKEY_ENVIRONMENT,
      AUTH_SESSIONS_TIMEBOX: '12h',
      AUTH_SESSIONS_INACTIVITY_TIMEOUT: '3h',
    })
  })
  afterAll(() => server.close())
  const routes = () =>
    authRoutes(server.context)
      .filter(({ docs }) => docs.security?.includes('user'))
      .map(({ method, path }) => ({ method: method.toUpperCase(), path: path.replace(/:\w+/g, UUID) }))
  const ask = (user: SignedUp, { method, path }: { method: string; path: string }, versioned = true) =>
    call(server, method, path, {
      token: user.access_token,
      versioned,
      ...(method === 'GET' || method === 'DELETE' ? {} : { body: {} }),
    })

  it.each(STATES)('who %s is refused by every endpoint', async (_, statement, code) => {
    const user = await aUser(server)
    await server.context.db.query(statement, [user.user.id])
    expect(routes().length).toBeGreaterThanOrEqual(9)
    for (const route of routes()) {
      const answer = await ask(user, route)
      expectError(answer, 403, code)
    }
  })

  it.each(LIMITS)(
    'whose session is past %s is refused by every endpoint that changes something',
    async (_, statement) => {
      const user = await aUser(server)
      await server.context.db.query(statement, [user.user.id])
      for (const route of routes()) {
        if (route.method === 'GET' && route.path === '/user') continue
        expectError(await ask(user, route), 403, 'session_expired')
      }
    },
  )

  it('that names no session is refused by every endpoint that changes something', async () => {
    const user = await aUser(server)
    const { session_id: _, ...claims } = claimsOf(user.access_token)
    const sessionless = { ...user, access_token: tokenOf(claims) }
    for (const route of routes()) {
      const answer = await ask(sessionless, route)
      if (route.method === 'GET' && route.path === '/user') expect(answer.status).toBe(200)
      else expectError(answer, 403, 'session_not_found')
    }
    expect((await ask(user, { method: 'GET', path: '/user' })).status).toBe(200)
  })

  it('is required by every endpoint', async () => {
    for (const { method, path } of routes()) {
      const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} }
      expectError(await call(server, method, path, body), 401, 'no_authorization', /Bearer token/)
      expectError(
        await call(server, method, path, { ...body, token: 'a.b.c' }),
        403,
        'bad_jwt',
        /^invalid JWT.*unable to parse or verify signature/,
      )
    }
  })

  it('of a logged-out session still reads the user in unversioned requests', async () => {
    const user = await aUser(server)
    await call(server, 'POST', '/logout', { token: user.access_token })
    expect((await ask(user, { method: 'GET', path: '/user' }, false)).status).toBe(200)
    expectError(await ask(user, { method: 'GET', path: '/user' }), 403, 'session_not_found')
    expectError(await ask(user, { method: 'PUT', path: '/user' }, false), 403, 'session_not_found')
  })
})
