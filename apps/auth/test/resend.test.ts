import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, expectError, mailTo, PASSWORD, post, put, type Json } from './support/api.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'

const MINUTE = 60_000

describe('POST /resend', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ ...NO_EMAIL_GAPS })
  })
  afterAll(() => server.close())
  const UUID = /^[0-9a-f-]{36}$/

  it('returns a new message_id whether or not anything was sent (SPEC)', async () => {
    const unconfirmed = anEmail()
    await post(server, '/signup', { email: unconfirmed, password: PASSWORD })
    const confirmed = await aUser(server)
    const answers = [
      await post(server, '/resend', { type: 'signup', email: unconfirmed }),
      await post(server, '/resend', { type: 'signup', email: confirmed.email }),
      await post(server, '/resend', { type: 'signup', email: anEmail() }),
      await post(server, '/resend', { type: 'email_change', email: confirmed.email }),
    ]
    for (const { status, body } of answers) {
      expect(status).toBe(200)
      expect(body).toEqual({ message_id: expect.stringMatching(UUID) as unknown })
    }
    expect(new Set(answers.map(({ text }) => text)).size).toBe(4)
    expect(server.inbox.messages({ to: unconfirmed })).toHaveLength(2)
    expect(server.inbox.messages({ to: confirmed.email })).toHaveLength(1)
  })

  it('sends another confirmation, which works like the first; one of them can be used', async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD })
    const first = await mailTo(server, email)
    await post(server, '/resend', { type: 'signup', email })
    const second = await mailTo(server, email, first.mail)
    expect((await post(server, '/verify', { type: 'signup', token: second.token })).status).toBe(200)
    expectError(await post(server, '/verify', { type: 'signup', token: first.token }), 403, 'otp_expired')
    expect((await post(server, '/token?grant_type=password', { email, password: PASSWORD })).status).toBe(200)
  })

  it('replaces what the same client had sent again before', async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD })
    const { mail } = await mailTo(server, email)
    await post(server, '/resend', { type: 'signup', email })
    const second = await mailTo(server, email, mail)
    await post(server, '/resend', { type: 'signup', email })
    const third = await mailTo(server, email, second.mail)
    expectError(await post(server, '/verify', { type: 'signup', token: second.token }), 403, 'otp_expired')
    expect((await post(server, '/verify', { type: 'signup', token: third.token })).status).toBe(200)
  })

  it('sends both halves of a pending email change again', async () => {
    const user = await aUser(server)
    const email = anEmail()
    await put(server, '/user', { email }, { token: user.access_token })
    server.clock.advance(MINUTE)
    await post(server, '/resend', { type: 'email_change', email: user.email })
    expect(server.inbox.messages({ to: email })).toHaveLength(2)
    expect(server.inbox.messages({ to: user.email, subject: 'Confirm your new email address' })).toHaveLength(
      2,
    )
  })

  it('sends only the half of an email change that is not confirmed yet', async () => {
    const user = await aUser(server)
    const email = anEmail()
    const toBoth = () => [user.email, email].map((to) => server.inbox.messages({ to }).length)
    await put(server, '/user', { email }, { token: user.access_token })
    const { token } = await mailTo(server, email)
    expect((await post(server, '/verify', { type: 'email_change', token })).status).toBe(200)
    const [current, changed] = toBoth() as [number, number]
    server.clock.advance(MINUTE)
    await post(server, '/resend', { type: 'email_change', email: user.email })
    expect(toBoth()).toEqual([current + 1, changed])
  })

  it.each<[string, Json, string]>([
    ['an unknown type', { type: 'recovery', email: 'a@b.co' }, 'validation_failed'],
    ['no type', { email: 'a@b.co' }, 'validation_failed'],
    ['signup without email', { type: 'signup', phone: '4915112345678' }, 'validation_failed'],
    ['sms without phone', { type: 'sms', email: 'a@b.co' }, 'validation_failed'],
    ['both addresses', { type: 'signup', email: 'a@b.co', phone: '4915112345678' }, 'validation_failed'],
    ['no address', { type: 'email_change' }, 'validation_failed'],
    ['phone while it is off', { type: 'sms', phone: '4915112345678' }, 'phone_provider_disabled'],
  ])('refuses %s', async (_, body, code) => {
    expectError(await post(server, '/resend', body), 400, code)
  })
})

describe('POST /resend after a second sign-up that came too soon', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('asks for a password instead of applying the one of the first sign-up', async () => {
    const email = anEmail()
    const strangersPassword = `${PASSWORD} of a stranger`
    expect((await post(server, '/signup', { email, password: strangersPassword })).status).toBe(200)
    const { mail } = await mailTo(server, email)
    const tooSoon = await post(server, '/signup', { email, password: PASSWORD })
    expectError(tooSoon, 429, 'over_email_send_rate_limit')
    server.clock.advance(15 * MINUTE)
    expect((await post(server, '/resend', { type: 'signup', email })).status).toBe(200)
    const { token } = await mailTo(server, email, mail)
    const proof = { type: 'signup', token }
    expectError(await post(server, '/verify', proof), 422, 'validation_failed')
    expect((await post(server, '/verify', { ...proof, password: PASSWORD })).status).toBe(200)
    const signIn = (password: string) => post(server, '/token?grant_type=password', { email, password })
    expect((await signIn(PASSWORD)).status).toBe(200)
    expectError(await signIn(strangersPassword), 400, 'invalid_credentials')
  })
})
