import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, expectError, mailTo, PASSWORD, post, put, type CallOptions } from './support/api.js'
import { NO_EMAIL_GAPS, SITE, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const admin: CallOptions = { token: serviceToken() }

describe('POST /invite', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ AUTH_DISABLE_SIGNUP: 'true' })
  })
  afterAll(() => server.close())

  it('creates a user without a password and emails the link, also while sign-up is disabled, and again while unconfirmed', async () => {
    const email = anEmail()
    const invite = () =>
      post(server, `/invite?redirect_to=${SITE}/join`, { email, data: { team: 'a' } }, admin)
    const { status, body } = await invite()
    expect(status).toBe(200)
    expect(body).toMatchObject({
      email,
      invited_at: expect.any(String) as unknown,
      confirmation_sent_at: expect.any(String) as unknown,
      user_metadata: { team: 'a' },
    })
    const first = await mailTo(server, email)
    expect(Object.fromEntries(new URL(first.link ?? '').searchParams)).toMatchObject({
      type: 'invite',
      redirect_to: `${SITE}/join`,
    })
    expect((await invite()).body['id']).toBe(body['id'])
    const second = await mailTo(server, email, first.mail)
    expectError(await post(server, '/verify', { type: 'invite', token: first.token }), 403, 'otp_expired')
    expect((await post(server, '/verify', { type: 'invite', token: second.token })).status).toBe(200)
    expectError(await invite(), 422, 'email_exists')
  })

  it('names who invites in person, and the product for a program', async () => {
    const open = await startServer({ AUTH_BRAND_NAME: 'Acme', ...NO_EMAIL_GAPS })
    try {
      const person = await aUser(open, { data: { full_name: 'Ada\u202e Lovelace' } })
      const role = { role: 'service_role' }
      expect((await put(open, `/admin/users/${person.user.id}`, role, admin)).status).toBe(200)
      for (const [token, inviter] of [
        [person.access_token, 'Ada Lovelace'],
        [serviceToken(), 'Acme'],
      ] as const) {
        const email = anEmail()
        expect((await post(open, '/invite', { email }, { token })).status).toBe(200)
        expect((await mailTo(open, email)).mail.text).toContain(`${inviter} has invited you`)
      }
    } finally {
      await open.close()
    }
  })

  it('refuses a bad address', async () => {
    expectError(await post(server, '/invite', { email: 'nonsense' }, admin), 400, 'validation_failed')
  })

  it("hides the invited user's data and the invitation from anyone who signs up with the address", async () => {
    const open = await startServer({ ...NO_EMAIL_GAPS })
    try {
      const email = anEmail()
      await post(open, '/invite', { email, data: { salary: 1 } }, admin)
      const { body } = await post(open, '/signup', { email, password: PASSWORD })
      expect(body['user_metadata']).not.toHaveProperty('salary')
      expect(body).not.toHaveProperty('invited_at')
    } finally {
      await open.close()
    }
  })
})
