import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { lockWaiters } from '@signet/testkit'
import { anEmail, aUser, expectError, get, PASSWORD, post, put, type Json } from './support/api.js'
import { FORWARDED, from } from './support/guessing.js'
import { createPasswordHasher } from '../src/passwords/password-hasher.js'
import { authError } from '../src/errors/auth-error.js'
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

  it('is refused for a wrong nonce before it tells whether the password is the current one', async () => {
    const user = await aUser(server)
    await nonceFor(user.access_token, user.email)
    const change = { password: PASSWORD, nonce: 'wrong' }
    const answer = await put(server, '/user', change, { token: user.access_token })
    expectError(answer, 422, 'reauthentication_not_valid')
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

  it.each([
    ['deleted', 'delete from users where id = $1', 'user_not_found'],
    ['banned', "update users set banned_until = 'infinity' where id = $1", 'user_banned'],
  ])('sends nothing to a user who was %s in the meantime', async (_, change, code) => {
    const user = await aUser(server)
    const { db } = server.context
    const { answer } = await db.transaction(async (tx) => {
      await tx.query(change, [user.user.id])
      const sent = get(server, '/reauthenticate', { token: user.access_token })
      await lockWaiters(db, 1)
      return { answer: sent }
    })
    expectError(await answer, 403, code)
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

describe('a new password that is a guess at the current one', () => {
  const GUESS = 'a guess at the password'
  /** Nine guesses, each from a network that the account does not know. `more` makes the change itself fail. */
  const guess = async (server: TestServer, token: string, more: Json) => {
    const codes: unknown[] = []
    for (let n = 0; n < 9; n += 1) {
      const change = { password: `${GUESS} ${n}`, ...more }
      const { body } = await put(server, '/user', change, { token, ...from(`198.51.100.${n}`) })
      codes.push(body['error_code'])
    }
    return codes
  }
  const isRefusedAtLast = (codes: readonly unknown[]) => codes.at(-1) === 'over_request_rate_limit'

  it('counts when the change is refused for something else', async () => {
    const server = await startServer({ ...FORWARDED, AUTH_MAILER_EMAIL_CHANGE_MAX_FREQUENCY: '900s' })
    try {
      const { access_token: token } = await aUser(server)
      await put(server, '/user', { email: anEmail() }, { token })
      const codes = await guess(server, token, { email: anEmail() })
      expect(codes[0]).toBe('over_email_send_rate_limit')
      expect(isRefusedAtLast(codes)).toBe(true)
    } finally {
      await server.close()
    }
  })

  it('counts when the change is refused for an address that somebody else has', async () => {
    const server = await startServer(FORWARDED)
    try {
      const { access_token: token } = await aUser(server)
      const { email } = await aUser(server)
      const codes = await guess(server, token, { email })
      expect(codes[0]).toBe('email_exists')
      expect(isRefusedAtLast(codes)).toBe(true)
    } finally {
      await server.close()
    }
  })

  it.each<[string, Json]>([
    ['metadata that is too large', { data: { x: 'y'.repeat(9000) } }],
    ['an address that cannot exist', { email: 'nonsense' }],
  ])('is not compared when the change is refused for %s', async (_, more) => {
    const server = await startServer(FORWARDED)
    try {
      const { access_token: token } = await aUser(server)
      const codes = await guess(server, token, more)
      const right = await put(server, '/user', { password: PASSWORD, ...more }, { token })
      expect(new Set([...codes, right.body['error_code']]).size).toBe(1)
      expect(right.body['error_code']).not.toBe('same_password')
    } finally {
      await server.close()
    }
  })

  it('counts when the server is too busy to hash the new one', async () => {
    const hasher = createPasswordHasher({ cost: 4 })
    const busy: typeof hasher = {
      ...hasher,
      hash: (password) =>
        password.startsWith(GUESS)
          ? Promise.reject(authError('unavailable', 'over_capacity', 'busy'))
          : hasher.hash(password),
    }
    const server = await startServer(FORWARDED, { hasher: busy })
    try {
      const { access_token: token } = await aUser(server)
      const codes = await guess(server, token, {})
      expect(codes[0]).toBe('over_capacity')
      expect(isRefusedAtLast(codes)).toBe(true)
    } finally {
      await server.close()
      await hasher.close()
    }
  })

  it('is not compared where the current one has to be known: one count is one guess', async () => {
    const env = { ...FORWARDED, AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true' }
    const server = await startServer(env)
    try {
      const { email } = await aUser(server)
      const { body } = await signIn(server, email, PASSWORD)
      const change = (password: string, current: string) =>
        put(server, '/user', { password, current_password: current }, { token: String(body['access_token']) })
      expectError(await change(PASSWORD, 'wrong'), 400, 'current_password_invalid')
      expectError(await change(PASSWORD, PASSWORD), 422, 'same_password')
      expect((await change(`${GUESS} of the owner`, PASSWORD)).status).toBe(200)
    } finally {
      await server.close()
    }
  })

  it('does not count once the password has changed', async () => {
    const server = await startServer(FORWARDED)
    try {
      const { access_token: token, email } = await aUser(server)
      expect(new Set(await guess(server, token, {}))).toEqual(new Set([undefined]))
      const wrong = await signIn(server, email, 'wrong')
      expectError(wrong, 400, 'invalid_credentials')
    } finally {
      await server.close()
    }
  })
})
