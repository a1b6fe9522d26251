import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aUser, expectError, get, PASSWORD, post, put, type Json } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

const NEW_PASSWORD = 'a better horse battery'

const signIn = (server: TestServer, email: string, password: string) =>
  post(server, '/token?grant_type=password', { email, password })

describe('reauthentication', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true' })
  })
  afterAll(() => server.close())
  const nonceFor = async (token: string, email: string) => {
    expect(await get(server, '/reauthenticate', { token })).toMatchObject({ status: 200, body: {} })
    const mail = await server.inbox.waitForMail({ to: email, subject: /is your verification code$/ })
    return /\b(\d{6})\b/.exec(mail.subject)?.[1] ?? ''
  }

  it('requires a nonce for every password change, even in a new session', async () => {
    const user = await aUser(server)
    const change = (nonce?: string) =>
      put(server, '/user', { password: NEW_PASSWORD, nonce }, { token: user.access_token })
    expectError(await change(), 400, 'reauthentication_needed')
    const nonce = await nonceFor(user.access_token, user.email)
    expectError(await change(nonce === '000000' ? '000001' : '000000'), 422, 'reauthentication_not_valid')
    expect((await change(nonce)).status).toBe(200)
    expectError(
      await put(server, '/user', { password: PASSWORD, nonce }, { token: user.access_token }),
      422,
      'reauthentication_not_valid',
    )
  })

  it('does not spend the nonce when the rest of the request fails', async () => {
    const [user, other] = [await aUser(server), await aUser(server)]
    const nonce = await nonceFor(user.access_token, user.email)
    const change = (body: Json) => put(server, '/user', { nonce, ...body }, { token: user.access_token })
    expectError(await change({ password: '123' }), 422, 'weak_password')
    expectError(await change({ password: NEW_PASSWORD, email: other.email }), 422, 'email_exists')
    expect((await change({ password: NEW_PASSWORD })).status).toBe(200)
  })

  it('refuses a nonce that is too old', async () => {
    const user = await aUser(server)
    const nonce = await nonceFor(user.access_token, user.email)
    server.clock.advance(3_000_000)
    const { body } = await post(server, '/token?grant_type=refresh_token', {
      refresh_token: user.refresh_token,
    })
    server.clock.advance(86_400_000 - 3_000_000)
    const fresh = await post(server, '/token?grant_type=refresh_token', {
      refresh_token: body['refresh_token'],
    })
    expectError(
      await put(
        server,
        '/user',
        { password: NEW_PASSWORD, nonce },
        { token: String(fresh.body['access_token']) },
      ),
      422,
      'reauthentication_not_valid',
    )
  })

  it('keeps the interval between two nonces', async () => {
    const user = await aUser(server)
    await nonceFor(user.access_token, user.email)
    expectError(
      await get(server, '/reauthenticate', { token: user.access_token }),
      429,
      'over_email_send_rate_limit',
    )
  })
})

describe('AUTH_SECURITY_REAUTHENTICATION_GRACE', () => {
  it('lets recent sessions change the password without a nonce', async () => {
    const server = await startServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
      AUTH_SECURITY_REAUTHENTICATION_GRACE: '10m',
    })
    try {
      const user = await aUser(server)
      const change = (password: string) => put(server, '/user', { password }, { token: user.access_token })
      server.clock.advance(599_999)
      expect((await change(NEW_PASSWORD)).status).toBe(200)
      server.clock.advance(1)
      expectError(await change(PASSWORD), 400, 'reauthentication_needed')
    } finally {
      await server.close()
    }
  })
})

describe('the current password', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true' })
  })
  afterAll(() => server.close())

  it('is required in a password session, but not in one opened by code', async () => {
    const user = await aUser(server)
    const { body } = await signIn(server, user.email, PASSWORD)
    const change = (password: string, current?: string, token = String(body['access_token'])) =>
      put(server, '/user', { password, current_password: current }, { token })
    expectError(await change(NEW_PASSWORD), 400, 'current_password_required')
    expectError(await change(NEW_PASSWORD, 'wrong'), 400, 'current_password_invalid')
    expect((await change(NEW_PASSWORD, PASSWORD)).status).toBe(200)
    await post(server, '/otp', { email: user.email })
    const mail = await server.inbox.waitForMail({ to: user.email, subject: 'Your sign-in link' })
    const token = new URL(mail.links[0] ?? '').searchParams.get('token')
    const byLink = await post(server, '/verify', { type: 'magiclink', token })
    expect((await change(PASSWORD, undefined, String(byLink.body['access_token']))).status).toBe(200)
  })
})
