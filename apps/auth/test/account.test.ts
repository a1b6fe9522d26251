import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aPhone,
  aUser,
  expectError,
  get,
  mailTo,
  PASSWORD,
  post,
  put,
  type ApiAnswer,
  type Json,
} from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { claimsOf, tokenOf } from './support/tokens.js'

const NEW_PASSWORD = 'a better horse battery'
const signIn = (server: TestServer, email: string, password: string) =>
  post(server, '/token?grant_type=password', { email, password })

describe('GET /user (1.13)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('answers the user, without hash, tokens or confirm status', async () => {
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

  it('accepts a token of a logged-out session until it expires, but not from a versioned request (0.2)', async () => {
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

  it('takes an all-zero session_id for none', async () => {
    const { user } = await aUser(server)
    const token = tokenOf({
      sub: user.id,
      aud: 'authenticated',
      session_id: '00000000-0000-0000-0000-000000000000',
    })
    expect((await get(server, '/user', { token })).status).toBe(200)
  })
})

describe('PUT /user (1.13)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_SMTP_MAX_FREQUENCY: '0',
      AUTH_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED: 'true',
      AUTH_MAILER_NOTIFICATIONS_EMAIL_CHANGED_ENABLED: 'true',
    })
  })
  afterAll(() => server.close())
  const update = (token: string, body: Json, versioned = false) =>
    put(server, '/user', body, { token, versioned })

  it('merges data, deletes members that are null, and keeps prototype keys harmless', async () => {
    const user = await aUser(server, { data: { a: 1, b: { c: 2 } } })
    const body = `{"data":{"a":null,"b":{"d":3},"__proto__":{"admin":true},"constructor":1}}`
    const answer = await put(server, '/user', body, { token: user.access_token })
    expect(answer.status).toBe(200)
    const metadata = answer.body['user_metadata'] as Json
    expect(metadata).not.toHaveProperty('a')
    expect(metadata).toMatchObject({ b: { d: 3 }, constructor: 1 })
    expect(answer.text).toContain('"__proto__":{"admin":true}')
    expect(({} as Json)['admin']).toBeUndefined()
  })

  it('does not lose one of two simultaneous changes of data', async () => {
    const user = await aUser(server)
    const keys = Array.from({ length: 8 }, (_, index) => `key${index}`)
    await Promise.all(keys.map((key) => update(user.access_token, { data: { [key]: true } })))
    const { body } = await get(server, '/user', { token: user.access_token })
    expect(Object.keys(body['user_metadata'] as Json)).toEqual(expect.arrayContaining(keys))
  })

  it('ignores role, id, aud, is_anonymous and email_confirm, and refuses app_metadata', async () => {
    const user = await aUser(server)
    const answer = await update(user.access_token, {
      role: 'service_role',
      id: '00000000-0000-4000-8000-000000000000',
      aud: 'x',
      is_anonymous: true,
      email_confirm: true,
      ban_duration: '1h',
    })
    expect(answer.body).toMatchObject({
      id: user.user.id,
      role: 'authenticated',
      aud: 'authenticated',
      is_anonymous: false,
    })
    expectError(await update(user.access_token, { app_metadata: { admin: true } }), 403, 'not_admin')
  })

  it('changes the password: other sessions and pending tokens die, this session lives, a notice goes out', async () => {
    const user = await aUser(server)
    const other = await signIn(server, user.email, PASSWORD)
    await post(server, '/recover', { email: user.email })
    const recovery = await server.inbox.waitForMail({ to: user.email, subject: 'Reset your password' })
    expect((await update(user.access_token, { password: NEW_PASSWORD })).status).toBe(200)
    expect((await signIn(server, user.email, NEW_PASSWORD)).status).toBe(200)
    expectError(await signIn(server, user.email, PASSWORD), 400, 'invalid_credentials')
    expectError(
      await get(server, '/user', { token: String(other.body['access_token']) }),
      403,
      'session_not_found',
    )
    expect((await get(server, '/user', { token: user.access_token })).status).toBe(200)
    expect(
      (await post(server, '/token?grant_type=refresh_token', { refresh_token: user.refresh_token })).status,
    ).toBe(200)
    const token = new URL(recovery.links[0] ?? '').searchParams.get('token')
    expectError(await post(server, '/verify', { type: 'recovery', token }), 403, 'otp_expired')
    await server.inbox.waitForMail({ to: user.email, subject: 'Your password was changed' })
  })

  it.each<[string, Json, number, string]>([
    ['a weak password', { password: '12345' }, 422, 'weak_password'],
    ['a password of 73 bytes', { password: 'x'.repeat(73) }, 400, 'validation_failed'],
    ['the current password', { password: PASSWORD }, 422, 'same_password'],
    ['a bad e-mail', { email: 'nonsense' }, 400, 'validation_failed'],
    ['a bad phone', { phone: 'nonsense' }, 400, 'validation_failed'],
    ['an unknown channel', { channel: 'pigeon' }, 400, 'validation_failed'],
    ['half a challenge', { code_challenge: 'x'.repeat(43) }, 400, 'validation_failed'],
  ])('refuses %s', async (_, body, status, code) => {
    const user = await aUser(server)
    expectError(await update(user.access_token, body), status, code)
  })

  it('refuses an address that somebody has, and does nothing for the current one', async () => {
    const [user, other] = [await aUser(server), await aUser(server)]
    expectError(await update(user.access_token, { email: other.email }), 422, 'email_exists')
    const same = await update(user.access_token, { email: user.email.toUpperCase() })
    expect(same.status).toBe(200)
    expect(same.body).not.toHaveProperty('new_email')
  })

  it('answers the pending address until both halves are confirmed (5.4)', async () => {
    const user = await aUser(server)
    const email = anEmail()
    const answer = await update(user.access_token, { email })
    expect(answer.body).toMatchObject({
      email: user.email,
      new_email: email,
      email_change_sent_at: expect.any(String) as unknown,
    })
    const current = await server.inbox.waitForMail({
      to: user.email,
      subject: 'Confirm your new email address',
    })
    const fresh = await mailTo(server, email)
    const tokenOfMail = (links: string[]) => new URL(links[0] ?? '').searchParams.get('token')
    expect(tokenOfMail(current.links)).not.toBe(fresh.token)

    const half = await post(server, '/verify', { type: 'email_change', token: fresh.token })
    expect([half.status, half.body]).toEqual([200, { msg: expect.any(String) as unknown, code: '200' }])
    expectError(
      await post(server, '/verify', { type: 'email_change', token: fresh.token }),
      403,
      'otp_expired',
    )
    expect((await get(server, '/user', { token: user.access_token })).body['email']).toBe(user.email)

    const done = await post(server, '/verify', { type: 'email_change', token: tokenOfMail(current.links) })
    expect(done.body).toMatchObject({
      type: 'email_change',
      access_token: expect.any(String) as unknown,
      user: { email, identities: [{ email, identity_data: { email, email_verified: true } }] },
    })
    expect(done.body['user']).not.toHaveProperty('new_email')
    const notice = await server.inbox.waitForMail({
      to: user.email,
      subject: 'Your email address was changed',
    })
    expect(notice.text || notice.html).toContain(email)
  })

  it('takes the code of either address together with that address (5.4 rule 6)', async () => {
    const user = await aUser(server)
    const email = anEmail()
    await update(user.access_token, { email })
    const current = await server.inbox.waitForMail({
      to: user.email,
      subject: 'Confirm your new email address',
    })
    const fresh = await mailTo(server, email)
    const code = /\b(\d{6})\b/.exec(current.text || current.html)?.[1]
    if (code !== fresh.code)
      expectError(
        await post(server, '/verify', { type: 'email_change', email, token: code }),
        403,
        'otp_expired',
      )
    expect(
      (await post(server, '/verify', { type: 'email_change', email: user.email, token: code })).body['code'],
    ).toBe('200')
    expect(
      (await post(server, '/verify', { type: 'email_change', email, token: fresh.code })).body['user'],
    ).toMatchObject({ email })
  })

  it('refuses the completion when the address was taken meanwhile', async () => {
    const user = await aUser(server)
    const email = anEmail()
    await update(user.access_token, { email })
    const current = await server.inbox.waitForMail({
      to: user.email,
      subject: 'Confirm your new email address',
    })
    const fresh = await mailTo(server, email)
    await post(server, '/verify', {
      type: 'email_change',
      token: new URL(current.links[0] ?? '').searchParams.get('token'),
    })
    await server.context.db.query('update users set email = $2 where id = $1', [
      (await aUser(server)).user.id,
      email,
    ])
    expectError(
      await post(server, '/verify', { type: 'email_change', token: fresh.token }),
      422,
      'email_exists',
    )
  })

  it('takes back both halves when one of the two mails cannot be sent (10.4)', async () => {
    const user = await aUser(server)
    const email = anEmail()
    server.inbox.fail({ at: 'recipient', to: (address) => address === email })
    expectError(await update(user.access_token, { email }), 500, 'unexpected_failure')
    server.inbox.fail(null)
    const { rows } = await server.context.db.query('select 1 from one_time_tokens where user_id = $1', [
      user.user.id,
    ])
    expect(rows).toEqual([])
    expect((await update(user.access_token, { email })).status).toBe(200)
  })
})

describe('PUT /user with the interval of 900 s (5.3)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('refuses a second e-mail change too early', async () => {
    const user = await aUser(server)
    const change = (): Promise<ApiAnswer> =>
      put(server, '/user', { email: anEmail() }, { token: user.access_token })
    expect((await change()).status).toBe(200)
    server.clock.advance(899_999)
    expectError(await change(), 429, 'over_email_send_rate_limit')
    server.clock.advance(1)
    expect((await change()).status).toBe(200)
  })
})

describe('reauthentication (1.15 and 7)', () => {
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

  it('wants a nonce for every password change, however young the session', async () => {
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

describe('the current password (1.13)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true' })
  })
  afterAll(() => server.close())

  it('is needed in a password session and not in one that came by code', async () => {
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

describe('POST /logout (1.16 and 4.4)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_MAILER_AUTOCONFIRM: 'true' })
  })
  afterAll(() => server.close())
  const refresh = async (token: unknown) =>
    (await post(server, '/token?grant_type=refresh_token', { refresh_token: token })).status
  const threeSessions = async () => {
    const first = await aUser(server)
    const [second, third] = [
      await signIn(server, first.email, PASSWORD),
      await signIn(server, first.email, PASSWORD),
    ]
    return { first, second: second.body, third: third.body }
  }

  it.each([
    ['global', [400, 400, 400]],
    ['', [400, 400, 400]],
    ['local', [400, 200, 200]],
    ['others', [200, 400, 400]],
  ])('scope %j revokes the right refresh tokens, with 204 and no body', async (scope, expected) => {
    const { first, second, third } = await threeSessions()
    const query = scope === '' ? '' : `?scope=${scope}`
    const answer = await post(server, `/logout${query}`, undefined, { token: first.access_token })
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect([
      await refresh(first.refresh_token),
      await refresh(second['refresh_token']),
      await refresh(third['refresh_token']),
    ]).toEqual(expected)
  })

  it('is fine twice, and refuses an unknown scope', async () => {
    const user = await aUser(server)
    const logout = (query = '') => post(server, `/logout${query}`, undefined, { token: user.access_token })
    expectError(await logout('?scope=everything'), 400, 'validation_failed')
    expect((await logout()).status).toBe(204)
    expect((await logout()).status).toBe(204)
  })

  it('counts as global without a session in the token', async () => {
    const user = await aUser(server)
    const { session_id: _, ...claims } = claimsOf(user.access_token)
    expect((await post(server, '/logout?scope=local', undefined, { token: tokenOf(claims) })).status).toBe(
      204,
    )
    expect(await refresh(user.refresh_token)).toBe(400)
  })

  it('revokes the child of a refresh that it races with', async () => {
    for (let round = 0; round < 5; round += 1) {
      const user = await aUser(server)
      await Promise.all([
        post(server, '/token?grant_type=refresh_token', { refresh_token: user.refresh_token }),
        post(server, '/logout', undefined, { token: user.access_token }),
      ])
      const { rows } = await server.context.db.query(
        'select 1 from refresh_tokens where user_id = $1 and not revoked',
        [user.user.id],
      )
      expect(rows).toEqual([])
    }
  })
})

describe('anonymous users (1.5)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' })
  })
  afterAll(() => server.close())

  it('become permanent with a verified address, and cannot set a password alone', async () => {
    const anonymous = (await post(server, '/signup', {})).body
    const token = String(anonymous['access_token'])
    expectError(await put(server, '/user', { password: PASSWORD }, { token }), 422, 'validation_failed')
    const email = anEmail()
    expect((await put(server, '/user', { email }, { token })).body).toMatchObject({
      email: '',
      new_email: email,
      is_anonymous: true,
    })
    const mail = await mailTo(server, email)
    const { body } = await post(server, '/verify', { type: 'email_change', token: mail.token })
    expect(body['user']).toMatchObject({
      id: anonymous['id'],
      email,
      is_anonymous: false,
      app_metadata: { provider: 'email', providers: ['email'] },
      identities: [{ provider: 'email', email }],
    })
  })

  it('change at once while addresses count as confirmed (5.4 rule 5)', async () => {
    const open = await startServer({
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      AUTH_MAILER_AUTOCONFIRM: 'true',
    })
    try {
      const { body } = await post(open, '/signup', {})
      const email = anEmail()
      const changed = await put(open, '/user', { email }, { token: String(body['access_token']) })
      expect(changed.body).toMatchObject({
        email,
        is_anonymous: false,
        email_confirmed_at: expect.any(String) as unknown,
      })
      expect(open.inbox.messages({ to: email })).toEqual([])
    } finally {
      await open.close()
    }
  })

  it('have a bucket of their own (12.1)', async () => {
    const limited = await startServer({
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      AUTH_RATE_LIMIT_HEADER: 'X-Client',
    })
    try {
      const signUp = () => post(limited, '/signup', {}, { headers: { 'X-Client': 'a' } })
      for (let request = 0; request < 30; request += 1) expect((await signUp()).status).toBe(200)
      expectError(await signUp(), 429, 'over_request_rate_limit')
      const withAddress = await post(
        limited,
        '/signup',
        { email: anEmail(), password: PASSWORD },
        { headers: { 'X-Client': 'a' } },
      )
      expect(withAddress.status).toBe(200)
    } finally {
      await limited.close()
    }
  })
})

describe('phone numbers', () => {
  let server: TestServer
  const phone = aPhone()
  beforeAll(async () => {
    server = await startServer({
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_TEST_OTP: `${phone}:123456,4915100000001:654321`,
      AUTH_MAILER_AUTOCONFIRM: 'true',
    })
  })
  afterAll(() => server.close())

  it('sign up, confirm and sign in with a test code, without any gateway (5.5)', async () => {
    const signedUp = await post(server, '/signup', { phone: `+${phone}`, password: PASSWORD })
    expect(signedUp.body).toMatchObject({
      phone,
      email: '',
      confirmation_sent_at: expect.any(String) as unknown,
      identities: [{ provider: 'phone', identity_data: { phone, phone_verified: false } }],
    })
    const signInByPhone = () => post(server, '/token?grant_type=password', { phone, password: PASSWORD })
    expectError(await signInByPhone(), 400, 'phone_not_confirmed')
    expectError(await post(server, '/verify', { type: 'sms', phone, token: '000000' }), 403, 'otp_expired')
    const verified = await post(server, '/verify', { type: 'sms', phone, token: '123456' })
    expect(verified.body).toMatchObject({
      user: { phone, phone_confirmed_at: expect.any(String) as unknown },
    })
    expect(verified.body).not.toHaveProperty('type')
    expect((await signInByPhone()).status).toBe(200)
  })

  it('get a code from /otp, whose interval still applies and which lives 60 s', async () => {
    server.clock.advance(60_000)
    expect(await post(server, '/otp', { phone })).toMatchObject({ status: 200, body: {} })
    expectError(await post(server, '/otp', { phone }), 429, 'over_sms_send_rate_limit')
    server.clock.advance(60_000)
    expectError(await post(server, '/verify', { type: 'sms', phone, token: '123456' }), 403, 'otp_expired')
    const versioned = await post(server, '/otp', { phone }, { versioned: true })
    expect(versioned.body).toEqual({ message_id: expect.any(String) as unknown })
    expect((await post(server, '/verify', { type: 'sms', phone, token: '123456' })).status).toBe(200)
  })

  it('change after the code to the new number is verified', async () => {
    const user = await aUser(server)
    const changed = await put(server, '/user', { phone: '4915100000001' }, { token: user.access_token })
    expect(changed.body).toMatchObject({
      phone: '',
      new_phone: '4915100000001',
      phone_change_sent_at: expect.any(String) as unknown,
    })
    const verified = await post(server, '/verify', {
      type: 'phone_change',
      phone: '4915100000001',
      token: '654321',
    })
    expect(verified.body['user']).toMatchObject({
      phone: '4915100000001',
      app_metadata: { providers: ['email', 'phone'] },
    })
    expectError(
      await put(server, '/user', { phone: '4915100000001' }, { token: (await aUser(server)).access_token }),
      422,
      'phone_exists',
    )
  })
})
