import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aUser, expectError, get, post, put } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { tokenOf } from './support/tokens.js'

describe('GET /user', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_JWT_ALLOWED_AUDIENCES: 'others' })
  })
  afterAll(() => server.close())

  it('returns the user without hash, tokens or confirmation status', async () => {
    const user = await aUser(server)
    const { status, body, text } = await get(server, '/user', { token: user.access_token })
    expect(status).toBe(200)
    expect(body).toEqual({ ...user.user })
    expect(text).not.toMatch(/\$2[aby]\$|password|_hash|confirm_status/)
  })

  it('refuses a token that is meant for another audience than the request', async () => {
    const user = await aUser(server)
    expectError(
      await get(server, '/user', { token: user.access_token, headers: { 'X-JWT-AUD': 'others' } }),
      400,
      'validation_failed',
    )
  })

  it('accepts a token of a logged-out session until it expires, but not from a versioned request', async () => {
    const user = await aUser(server)
    await post(server, '/logout', undefined, { token: user.access_token })
    expect((await get(server, '/user', { token: user.access_token })).status).toBe(200)
    expectError(
      await get(server, '/user', { token: user.access_token, versioned: true }),
      403,
      'session_not_found',
    )
    expectError(
      await put(server, '/user', { data: {} }, { token: user.access_token }),
      403,
      'session_not_found',
    )
    expectError(await get(server, '/reauthenticate', { token: user.access_token }), 403, 'session_not_found')
  })

  it('refuses the tokens of a deleted session and of a deleted user', async () => {
    const user = await aUser(server)
    await server.context.db.query('delete from sessions where user_id = $1', [user.user.id])
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'session_not_found')
    await server.context.db.query('delete from users where id = $1', [user.user.id])
    expectError(await get(server, '/user', { token: user.access_token }), 403, 'user_not_found')
  })

  it('treats an all-zero session_id as none', async () => {
    const { user } = await aUser(server)
    const token = tokenOf({
      sub: user.id,
      aud: 'authenticated',
      session_id: '00000000-0000-0000-0000-000000000000',
    })
    expect((await get(server, '/user', { token })).status).toBe(200)
  })
})
