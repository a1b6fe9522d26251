import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, aUser, expectError, get, PASSWORD, post, type Json } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

describe('POST /signup with autoconfirm', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    })
  })
  afterAll(() => server.close())

  it('returns a session and repeats the user’s main members at the top level', async () => {
    const email = anEmail()
    const { body } = await post(server, '/signup', { email, password: PASSWORD })
    const user = body['user'] as Json
    expect(body).toMatchObject({
      access_token: expect.any(String) as unknown,
      token_type: 'bearer',
      expires_in: 3600,
      expires_at: server.clock.now().getTime() / 1000 + 3600,
      refresh_token: expect.any(String) as unknown,
      id: user['id'],
      email,
      phone: '',
      created_at: user['created_at'],
      updated_at: user['updated_at'],
    })
    expect(user).toMatchObject({
      email_confirmed_at: expect.any(String) as unknown,
      confirmed_at: expect.any(String) as unknown,
      last_sign_in_at: expect.any(String) as unknown,
      user_metadata: { email_verified: true },
      identities: [{ identity_data: { email_verified: true } }],
    })
    expect(server.inbox.messages({ to: email })).toHaveLength(0)
  })

  it('answers 400 user_already_exists, not 422, for a confirmed user', async () => {
    const { email } = await aUser(server)
    const again = await post(server, '/signup', { email, password: PASSWORD })
    expectError(again, 400, 'user_already_exists', /^User already registered/)
  })

  it('signs up an anonymous user with exactly the given data and no identity', async () => {
    const { status, body } = await post(server, '/signup', { data: { theme: 'dark' } })
    expect(status).toBe(200)
    expect(body['user']).toMatchObject({
      email: '',
      phone: '',
      is_anonymous: true,
      app_metadata: {},
      user_metadata: { theme: 'dark' },
      identities: [],
    })
    const user = await get(server, '/user', { token: body['access_token'] as string })
    expect(user.body).toMatchObject({ id: body['id'], is_anonymous: true })
  })
})

describe('POST /signup while sign-up is disabled', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_DISABLE_SIGNUP: 'true', AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' })
  })
  afterAll(() => server.close())

  it('is refused before any other check', async () => {
    for (const body of [{ email: anEmail(), password: PASSWORD }, { email: 'x', phone: aPhone() }, {}])
      expectError(
        await post(server, '/signup', body, { versioned: true }),
        422,
        'signup_disabled',
        /^Signups not allowed for this instance$/,
      )
  })
})
