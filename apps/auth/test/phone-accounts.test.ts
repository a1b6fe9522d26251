import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aPhone, aUser, expectError, PASSWORD, post, put } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

describe('phone numbers', () => {
  let server: TestServer
  const phone = aPhone()
  beforeAll(async () => {
    server = await startServer({
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_TEST_OTP: `${phone}:123456,4915100000001:654321,4915100000002:222222`,
      AUTH_MAILER_AUTOCONFIRM: 'true',
    })
  })
  afterAll(() => server.close())

  it('sign up, confirm and sign in with a test code, without any gateway', async () => {
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

  it('is a sign-up in the audit log the first time and a login after that', async () => {
    const number = '4915100000002'
    const actionsOf = async (id: unknown) => {
      const { rows } = await server.context.db.query<{ action: string }>(
        `select payload ->> 'action' as action from audit_log_entries where payload ->> 'actor_id' = $1
         order by created_at, id`,
        [id],
      )
      return rows.map(({ action }) => action).filter((action) => /signedup|login/.test(action))
    }
    const verify = () => post(server, '/verify', { type: 'sms', phone: number, token: '222222' })
    await post(server, '/otp', { phone: number })
    const { id } = (await verify()).body['user'] as { id: string }
    expect(await actionsOf(id)).toEqual(['user_signedup'])
    server.clock.advance(60_000)
    await post(server, '/otp', { phone: number })
    expect((await verify()).status).toBe(200)
    expect(await actionsOf(id)).toEqual(['user_signedup', 'login'])
  })

  it('refuses half a challenge, although a code by SMS ends no flow', async () => {
    const body = { phone, code_challenge: 'x'.repeat(43) }
    expectError(await post(server, '/otp', body), 400, 'validation_failed')
  })
})

describe('phone numbers that count as confirmed (AUTH_SMS_AUTOCONFIRM)', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      AUTH_EXTERNAL_PHONE_ENABLED: 'true',
      AUTH_SMS_AUTOCONFIRM: 'true',
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_MAILER_NOTIFICATIONS_PHONE_CHANGED_ENABLED: 'true',
    })
  })
  afterAll(() => server.close())

  it('change at once, with a notice from the second number on', async () => {
    const { email, access_token: token } = await aUser(server)
    const [first, second] = [aPhone(), aPhone()]
    const change = (phone: string) => put(server, '/user', { phone }, { token })
    expect((await change(first)).body).toMatchObject({ phone: first })
    expect(server.inbox.messages({ to: email })).toHaveLength(0)
    expect((await change(second)).body).toMatchObject({
      phone: second,
      phone_confirmed_at: expect.any(String) as unknown,
    })
    const notice = await server.inbox.waitForMail({ to: email, subject: 'Your phone number was changed' })
    expect(notice.text).toContain(first)
    expect(notice.text).toContain(second)
    await change(second)
    expect(server.inbox.messages({ to: email })).toHaveLength(1)
  })
})
