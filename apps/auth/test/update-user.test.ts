import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
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
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'

const NEW_PASSWORD = 'a better horse battery'

const signIn = (server: TestServer, email: string, password: string) =>
  post(server, '/token?grant_type=password', { email, password })

describe('PUT /user', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      ...NO_EMAIL_GAPS,
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

  it('refuses to change credentials that another service manages', async () => {
    const { user, access_token: token } = await aUser(server)
    await server.context.db.query('update users set is_sso_user = true where id = $1', [user.id])
    for (const body of [{ email: anEmail() }, { phone: '4915112345678' }, { password: NEW_PASSWORD }])
      expectError(await update(token, body), 422, 'user_sso_managed')
    expect((await update(token, { data: { a: 1 } })).status).toBe(200)
  })

  it('treats an empty body as no change, because no member is required', async () => {
    const { user, access_token: token } = await aUser(server)
    const answer = await put(server, '/user', undefined, { token })
    expect([answer.status, answer.body['id']]).toEqual([200, user.id])
  })

  it('refuses data too large for a token; smaller data stays usable and may shrink', async () => {
    const { access_token: token, refresh_token: refreshToken } = await aUser(server)
    const answer = await update(token, { data: { notes: 'ä'.repeat(4096) } })
    expectError(answer, 400, 'validation_failed', /8192 fit into access tokens/)
    expect((await update(token, { data: { notes: 'x'.repeat(7800) } })).status).toBe(200)
    expectError(await update(token, { data: { more: 'x'.repeat(400) } }), 400, 'validation_failed')
    const refreshed = await post(server, '/token?grant_type=refresh_token', { refresh_token: refreshToken })
    const large = String(refreshed.body['access_token'])
    expect(large.length).toBeGreaterThan(10_000)
    expect((await get(server, '/user', { token: large })).status).toBe(200)
    await server.context.db.query(
      `update users set user_metadata = jsonb_build_object('a', repeat('x', 9000), 'b', repeat('x', 9000))
       where id = $1`,
      [refreshed.body['user'] && (refreshed.body['user'] as Json)['id']],
    )
    expect((await update(token, { data: { a: null } })).status).toBe(200)
    expectError(await update(token, { data: { c: 1 } }), 400, 'validation_failed')
  })

  it('does not lose one of two parallel changes of data', async () => {
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

  it('changes the password: ends other sessions and pending tokens, keeps this session, sends a notice', async () => {
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
    ['a bad email', { email: 'nonsense' }, 400, 'validation_failed'],
    ['a bad phone', { phone: 'nonsense' }, 400, 'validation_failed'],
    ['an unknown channel', { channel: 'pigeon' }, 400, 'validation_failed'],
    ['half a challenge', { code_challenge: 'x'.repeat(43) }, 400, 'validation_failed'],
  ])('refuses %s', async (_, body, status, code) => {
    const user = await aUser(server)
    expectError(await update(user.access_token, body), status, code)
  })

  it('refuses a taken address, and does nothing for the current one', async () => {
    const [user, other] = [await aUser(server), await aUser(server)]
    expectError(await update(user.access_token, { email: other.email }), 422, 'email_exists')
    const same = await update(user.access_token, { email: user.email.toUpperCase() })
    expect(same.status).toBe(200)
    expect(same.body).not.toHaveProperty('new_email')
  })

  it('shows the pending address until both halves are confirmed', async () => {
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

  it('accepts the code of either address together with that address', async () => {
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

  it('refuses the completion when the address was taken in the meantime', async () => {
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

  it('withdraws both halves when one of the two emails is refused', async () => {
    const user = await aUser(server)
    const email = anEmail()
    server.inbox.fail({ at: 'recipient', to: (address) => address === email })
    expect((await update(user.access_token, { email })).status).toBe(200)
    server.inbox.fail(null)
    const { rows } = await server.context.db.query('select 1 from one_time_tokens where user_id = $1', [
      user.user.id,
    ])
    expect(rows).toEqual([])
    const { body } = await get(server, '/user', { token: user.access_token })
    expect(body).not.toHaveProperty('new_email')
    expect(body).not.toHaveProperty('email_change_sent_at')
    expect((await update(user.access_token, { email })).status).toBe(200)
  })

  it('withdraws only the second emails when those are refused', async () => {
    const user = await aUser(server)
    const email = anEmail()
    const tokensSentTo = (to: string) =>
      server.inbox
        .messages({ to, subject: 'Confirm your new email address' })
        .map(({ links }) =>
          new URL(links.find((url) => url.includes('token=')) ?? '').searchParams.get('token'),
        )
    const use = (token: string | null | undefined) => post(server, '/verify', { type: 'email_change', token })
    await update(user.access_token, { email })
    server.inbox.fail({ at: 'recipient', to: (address) => address === email })
    expect((await post(server, '/resend', { type: 'email_change', email: user.email })).status).toBe(200)
    server.inbox.fail(null)
    const [current, withdrawn] = tokensSentTo(user.email)
    expectError(await use(withdrawn), 403, 'otp_expired')
    for (const token of [current, tokensSentTo(email)[0]]) expect((await use(token)).status).toBe(200)
    const { body } = await get(server, '/user', { token: user.access_token })
    expect(body).toMatchObject({ email })
  })
})

describe('PUT /user within the interval between email changes', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('refuses a second email change too early', async () => {
    const user = await aUser(server)
    const change = (): Promise<ApiAnswer> =>
      put(server, '/user', { email: anEmail() }, { token: user.access_token })
    expect((await change()).status).toBe(200)
    server.clock.advance(59_999)
    expectError(await change(), 429, 'over_email_send_rate_limit')
    server.clock.advance(1)
    expect((await change()).status).toBe(200)
  })

  it("is not held up by a stranger who has the change's emails sent again", async () => {
    const user = await aUser(server)
    const change = () => put(server, '/user', { email: anEmail() }, { token: user.access_token })
    expect((await change()).status).toBe(200)
    server.clock.advance(60_000)
    const again = await post(server, '/resend', { type: 'email_change', email: user.email })
    expect(again.status).toBe(200)
    expect((await change()).status).toBe(200)
  })
})
