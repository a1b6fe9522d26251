import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import type { SmsProvider } from '../src/sms/sms-sender.js'
import { aPhone, aUser, expectError, PASSWORD, post, put, type Json } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { gatewayApis, standingAlone, startSmsGateway, type SmsGateway } from './support/sms-gateway.js'

const providers = Object.keys(gatewayApis) as SmsProvider[]

describe.each(providers)('phones through %s', (provider) => {
  let gateway: SmsGateway
  let server: TestServer
  beforeAll(async () => {
    gateway = await startSmsGateway(provider)
    server = await startServer({ ...gateway.env, AUTH_MAILER_AUTOCONFIRM: 'true' }, { smsUrls: gateway.urls })
  })
  afterAll(async () => {
    await server.close()
    await gateway.close()
  })
  beforeEach(() => gateway.refuse(false))

  const textsTo = (phone: string) => gateway.messages.filter(({ to }) => to.endsWith(phone))
  const signUp = (phone: string) => post(server, '/signup', { phone, password: PASSWORD })
  const verify = (phone: string, type: string, token = gateway.codeFor(phone)) =>
    post(server, '/verify', { type, phone, token })
  const signIn = (phone: string) => post(server, '/token?grant_type=password', { phone, password: PASSWORD })

  it('sign up: the code confirms the number, and the password opens the account then', async () => {
    const phone = aPhone()
    expect((await signUp(phone)).body).toMatchObject({
      phone,
      confirmation_sent_at: expect.any(String) as unknown,
    })
    expect(textsTo(phone)).toEqual([
      {
        to: provider === 'twilio' ? `+${phone}` : phone,
        text: expect.stringMatching(/^Your code is \d{6}$/) as unknown,
        channel: 'sms',
      },
    ])
    expectError(await signIn(phone), 400, 'phone_not_confirmed')
    const code = gateway.codeFor(phone)
    expectError(await verify(phone, 'sms', code === '000000' ? '111111' : '000000'), 403, 'otp_expired')
    expect((await verify(phone, 'sms', code)).body['user']).toMatchObject({
      phone,
      phone_confirmed_at: expect.any(String) as unknown,
    })
    expectError(await verify(phone, 'sms', code), 403, 'otp_expired')
    expect((await signIn(phone)).status).toBe(200)
  })

  it('one-time codes sign in, also somebody new', async () => {
    const phone = aPhone()
    expect(await post(server, '/otp', { phone })).toMatchObject({ status: 200, body: {} })
    expect((await verify(phone, 'sms')).body['user']).toMatchObject({ phone })
    server.clock.advance(60_000)
    await post(server, '/otp', { phone })
    expect((await verify(phone, 'sms')).status).toBe(200)
    expect(textsTo(phone)).toHaveLength(2)
  })

  it('a number changes once the code that went to the new one comes back', async () => {
    const user = await aUser(server)
    const phone = aPhone()
    const { body } = await put(server, '/user', { phone }, { token: user.access_token })
    expect(body).toMatchObject({ phone: '', new_phone: phone })
    expectError(await verify(phone, 'sms'), 403, 'otp_expired')
    const changed = await verify(phone, 'phone_change')
    expect(changed.body['user']).toMatchObject({ id: user.user.id, phone })
    expect((changed.body['user'] as Json)['new_phone']).toBeUndefined()
  })

  it('resending waits for the interval, and the newer code replaces the older', async () => {
    const phone = aPhone()
    await signUp(phone)
    const first = gateway.codeFor(phone)
    const early = await post(server, '/resend', { type: 'sms', phone })
    expectError(early, 429, 'over_sms_send_rate_limit')
    expect(early.headers.get('retry-after')).toBe('60')
    server.clock.advance(60_000)
    const answer = await post(server, '/resend', { type: 'sms', phone })
    expect(answer.body).toEqual({ message_id: expect.any(String) as unknown })
    const second = gateway.codeFor(phone)
    if (first !== second) expectError(await verify(phone, 'sms', first), 403, 'otp_expired')
    expect((await verify(phone, 'sms', second)).status).toBe(200)
  })

  it('a message that the gateway refuses leaves neither code nor interval behind', async () => {
    const [phone, changing] = [aPhone(), aPhone()]
    const user = await aUser(server)
    gateway.refuse(true)
    // The service answers before it sends anything.
    for (const answer of [
      await signUp(phone),
      await post(server, '/otp', { phone: aPhone() }),
      await put(server, '/user', { phone: changing }, { token: user.access_token }),
    ])
      expect(answer.status).toBe(200)
    const { rows } = await server.context.db.query(
      'select 1 from one_time_tokens where relates_to = any($1::text[])',
      [[phone, changing]],
    )
    expect(rows).toHaveLength(0)
    gateway.refuse(false)
    server.clock.advance(60_000)
    expect((await signUp(phone)).status).toBe(200)
    expect((await put(server, '/user', { phone: changing }, { token: user.access_token })).status).toBe(200)
    expect(textsTo(phone)).toHaveLength(1)
  })

  it('neither codes nor credentials are logged', () => {
    const lines = JSON.stringify(server.lines)
    expect(lines).not.toContain('the-secret')
    const codes = gateway.messages.flatMap(({ text }) => /\d{6}/.exec(text) ?? [])
    expect(codes).not.toHaveLength(0)
    for (const code of codes) expect(lines).not.toMatch(standingAlone(code))
  })

  it(`WhatsApp is ${provider === 'twilio' ? 'another channel' : 'not offered'}`, async () => {
    const phone = aPhone()
    const answers = [
      await post(server, '/signup', { phone, password: PASSWORD, channel: 'whatsapp' }),
      await post(server, '/otp', { phone: aPhone(), channel: 'whatsapp' }),
    ]
    for (const answer of answers)
      if (provider === 'twilio') expect(answer.status).toBe(200)
      else expectError(answer, 400, 'validation_failed')
    expectError(await post(server, '/otp', { phone, channel: 'pigeon' }), 400, 'validation_failed')
    if (provider !== 'twilio') return
    expect(gateway.messages.slice(-2)).toMatchObject([
      { to: `whatsapp:+${phone}`, channel: 'whatsapp' },
      { channel: 'whatsapp' },
    ])
    expect((await verify(phone, 'sms')).status).toBe(200)
  })
})

describe('phones without a gateway', () => {
  it('a gateway that never answers holds up neither the answer nor the next attempt', async () => {
    const gateway = await startSmsGateway()
    const env = { ...gateway.env, AUTH_OUTBOX_ATTEMPT_TIMEOUT: '200ms', AUTH_OUTBOX_POLL_INTERVAL: '20ms' }
    const server = await startServer(env, { smsUrls: gateway.urls })
    try {
      const phone = aPhone()
      gateway.refuse('silently')
      expect((await post(server, '/otp', { phone })).status).toBe(200)
      gateway.refuse(false)
      expect(gateway.codeFor(phone)).toBe('')
      server.clock.advance(1000)
      await waitFor(() => gateway.codeFor(phone) !== '')
      expect(gateway.messages).toHaveLength(1)
    } finally {
      await server.close()
      await gateway.close()
    }
  })

  it('a gateway whose settings are incomplete is a fault of the server', async () => {
    const server = await startServer({ AUTH_EXTERNAL_PHONE_ENABLED: 'true', AUTH_SMS_PROVIDER: 'vonage' })
    try {
      expectError(await post(server, '/otp', { phone: aPhone() }), 500, 'unexpected_failure')
    } finally {
      await server.close()
    }
  })

  it('test codes are used until AUTH_SMS_TEST_OTP_VALID_UNTIL, and then are codes like any other', async () => {
    const phone = aPhone()
    const gateway = await startSmsGateway()
    const env = {
      AUTH_SMS_TEST_OTP: `${phone}:123456`,
      AUTH_SMS_TEST_OTP_VALID_UNTIL: '2030-01-01T10:01:00Z',
    }
    const server = await startServer({ ...gateway.env, ...env }, { smsUrls: gateway.urls })
    try {
      await post(server, '/otp', { phone })
      expect(gateway.messages).toHaveLength(0)
      expect((await post(server, '/verify', { type: 'sms', phone, token: '123456' })).status).toBe(200)
      server.clock.advance(60_000)
      await post(server, '/otp', { phone })
      expect(gateway.messages).toHaveLength(1)
    } finally {
      await server.close()
      await gateway.close()
    }
  })
})
