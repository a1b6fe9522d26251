import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aPhone,
  aUser,
  expectError,
  PASSWORD,
  post,
  type ApiAnswer,
  type Json,
} from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { startSmsServer } from './support/sms-gateway.js'

describe('the interval between two recoveries', () => {
  it('is not begun by a link that a stranger requests', async () => {
    const server = await startServer({})
    try {
      const { email } = await aUser(server)
      expect((await post(server, '/otp', { email })).status).toBe(200)
      expect((await post(server, '/recover', { email })).status).toBe(200)
      expectError(await post(server, '/recover', { email }), 429, 'over_email_send_rate_limit')
    } finally {
      await server.close()
    }
  })
})

describe('the interval between two messages', () => {
  let server: TestServer
  beforeAll(async () => {
    ;({ server } = await startSmsServer())
  })
  afterAll(() => server.close())
  /** Everything in an answer that could tell one address from another. */
  const seen = ({ status, body, headers }: ApiAnswer) => ({
    status,
    body: { ...body, ...('message_id' in body ? { message_id: 'any' } : {}) },
    retryAfter: headers.get('retry-after'),
  })
  const twice = async (path: string, body: Json) => {
    const first = seen(await post(server, path, body))
    server.clock.advance(10_000)
    const second = seen(await post(server, path, body))
    return [first, second]
  }
  /** Users whose own intervals are over. */
  const known = async () => {
    const { email } = await aUser(server)
    const unconfirmed = anEmail()
    await post(server, '/signup', { email: unconfirmed, password: PASSWORD })
    server.clock.advance(900_000)
    return { email, unconfirmed }
  }

  it.each<[string, Json, number]>([
    ['/recover', {}, 890],
    ['/resend', { type: 'signup' }, 890],
    ['/otp', { create_user: true }, 50],
  ])(
    'of %s is the same for users and for strangers: a second request is too early',
    async (path, body, seconds) => {
      const { email, unconfirmed } = await known()
      const stranger = await twice(path, { ...body, email: anEmail() })
      expect(stranger.map(({ status, retryAfter }) => [status, retryAfter])).toEqual([
        [200, null],
        [429, String(seconds)],
      ])
      expect(await twice(path, { ...body, email })).toEqual(stranger)
      if (path !== '/otp') expect(await twice(path, { ...body, email: unconfirmed })).toEqual(stranger)
    },
  )

  it.each([
    ['email_change', anEmail(), 'over_email_send_rate_limit'],
    ['sms', undefined, 'over_sms_send_rate_limit'],
    ['phone_change', undefined, 'over_sms_send_rate_limit'],
  ])('of /resend %s has the code of the message that was not sent', async (type, email, code) => {
    const body = { type, ...(email === undefined ? { phone: aPhone() } : { email }) }
    expect((await post(server, '/resend', body)).status).toBe(200)
    expectError(await post(server, '/resend', body), 429, code, /after \d+ seconds/)
  })

  it('ends at the same time for unknown addresses and for users, and is kept per address and kind', async () => {
    const email = anEmail()
    const recover = (address = email) => post(server, '/recover', { email: address })
    expect((await recover()).status).toBe(200)
    server.clock.advance(899_999)
    expectError(await recover(), 429, 'over_email_send_rate_limit')
    expect((await recover(anEmail())).status).toBe(200)
    expect((await post(server, '/resend', { type: 'signup', email })).status).toBe(200)
    server.clock.advance(1)
    expect((await recover()).status).toBe(200)
  })

  it('lets exactly one of many parallel requests for an unknown address through', async () => {
    const email = anEmail()
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(server, '/recover', { email })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(9)
  })

  it('stores no address that has no account', async () => {
    const email = anEmail()
    await post(server, '/recover', { email })
    const { rows } = await server.context.db.query<{ text: string }>(
      `select encode(id, 'escape') as text from message_requests`,
    )
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.filter(({ text }) => text.includes(email))).toEqual([])
  })

  it.each(['1', '1/1h'])('does not apply while the email quota is used up: %s', async (quota) => {
    const small = await startServer({ AUTH_RATE_LIMIT_EMAIL_SENT: quota, AUTH_SMTP_MAX_FREQUENCY: '0' })
    try {
      const email = anEmail()
      expect((await post(small, '/recover', { email: anEmail() })).status).toBe(200)
      await post(small, '/signup', { email, password: PASSWORD })
      for (const address of [email, anEmail(), anEmail()])
        expectError(
          await post(small, '/recover', { email: address }),
          429,
          'over_email_send_rate_limit',
          'Email rate limit exceeded',
        )
    } finally {
      await small.close()
    }
  })
})
