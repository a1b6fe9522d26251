import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, expectError, mailTo, PASSWORD, post, put } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

describe('anonymous users', () => {
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

  it('change at once while addresses count as confirmed', async () => {
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

  it('have a bucket of their own', async () => {
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
