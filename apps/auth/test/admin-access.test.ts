import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { NIL_UUID } from '../src/users/uuid.js'
import { anEmail, aUser, call, expectError, get, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { claimsOf, serviceToken, tokenOf } from './support/tokens.js'

describe('admin authorization', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_JWT_ADMIN_ROLES: 'supervisor,service_role',
    })
  })
  afterAll(() => server.close())
  const paths: [string, string][] = [
    ['GET', '/admin/users'],
    ['POST', '/admin/users'],
    ['GET', `/admin/users/${randomUUID()}`],
    ['POST', `/admin/users/${randomUUID()}`],
    ['PUT', `/admin/users/${randomUUID()}`],
    ['DELETE', `/admin/users/${randomUUID()}`],
    ['GET', `/admin/users/${randomUUID()}/factors`],
    ['GET', '/admin/audit'],
    ['POST', '/admin/generate_link'],
    ['POST', '/invite'],
  ]

  it.each(paths)('%s %s requires a bearer token with an admin role', async (method, path) => {
    const user = await aUser(server)
    const body = method === 'POST' || method === 'PUT' ? {} : undefined
    expectError(await call(server, method, path, { body }), 401, 'no_authorization')
    expectError(await call(server, method, path, { body, token: user.access_token }), 403, 'not_admin')
    expectError(await call(server, method, path, { body, token: 'x' }), 403, 'bad_jwt')
  })

  it('accepts every configured role, and the two named by the specification for invitations only', async () => {
    expect((await get(server, '/admin/users', { token: tokenOf({ role: 'supervisor' }) })).status).toBe(200)
    const platform = { token: tokenOf({ role: 'supabase_admin' }) }
    expectError(await get(server, '/admin/users', platform), 403, 'not_admin')
    expect((await post(server, '/invite', { email: anEmail() }, platform)).status).toBe(200)
  })

  it('refuses a banned administrator at once', async () => {
    const chief = await aUser(server)
    await server.context.db.query(`update users set role = 'supervisor' where id = $1`, [chief.user.id])
    const { body } = await post(server, '/token?grant_type=refresh_token', {
      refresh_token: chief.refresh_token,
    })
    const token = String(body['access_token'])
    expect((await get(server, '/admin/users', { token })).status).toBe(200)
    const ban = { ban_duration: '1h' }
    await call(server, 'PUT', `/admin/users/${chief.user.id}`, { body: ban, token: serviceToken() })
    expectError(await get(server, '/admin/users', { token }), 403, 'user_banned')
    expectError(await post(server, '/invite', { email: anEmail() }, { token }), 403, 'user_banned')
  })

  it('requires the session of an admin token to be open; an all-zero session_id counts as none', async () => {
    const user = await aUser(server)
    await server.context.db.query(`update users set role = 'supervisor' where id = $1`, [user.user.id])
    const claims = claimsOf(user.access_token)
    const list = (token: string) => get(server, '/admin/users', { token })
    expect((await list(tokenOf(claims))).status).toBe(200)
    for (const sessionId of [randomUUID(), NIL_UUID])
      expectError(await list(tokenOf({ ...claims, session_id: sessionId })), 403, 'session_not_found')
    expect((await list(tokenOf({ role: 'service_role', session_id: NIL_UUID }))).status).toBe(200)
    const { sub: _, ...nobodys } = claims
    expectError(await list(tokenOf(nobodys)), 403, 'bad_jwt')
    await server.context.db.query('update sessions set not_after = $2 where user_id = $1', [
      user.user.id,
      server.clock.now(),
    ])
    expectError(await list(tokenOf(claims)), 403, 'session_expired')
    await post(server, '/logout?scope=local', undefined, { token: user.access_token })
    expectError(await list(tokenOf(claims)), 403, 'session_not_found')
  })
})
