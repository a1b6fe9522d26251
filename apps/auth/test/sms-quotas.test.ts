import { describe, expect, it } from '@jest/globals'
import { aPhone, aUser, expectError, post, put } from './support/api.js'
import { aClient, count, statuses, times, useSharedServers } from './support/send-quotas.js'
import { startServer, type TestServer } from './support/server.js'
import { startSmsGateway, startSmsServer } from './support/sms-gateway.js'

const sharedServer = useSharedServers()

/** A server with the default quotas. */
const anSmsServer = (env: Record<string, string> = {}): Promise<TestServer> =>
  sharedServer(
    {
      AUTH_RATE_LIMIT_HEADER: 'X-Client',
      AUTH_RATE_LIMIT_OTP: '100000',
      AUTH_RATE_LIMIT_SMS_SENT: '30',
      AUTH_RATE_LIMIT_SMS_SENT_PER_RECIPIENT: '10',
      ...env,
    },
    async (settings) => (await startSmsServer(settings)).server,
  )
const askFor = (server: TestServer, phone: string, from = aClient()) => post(server, '/otp', { phone }, from)

describe('quotas of SMS', () => {
  it('give one client half at most, and the rest to other clients', async () => {
    const server = await anSmsServer()
    const one = aClient()
    expect(count(await statuses(times(25, () => askFor(server, aPhone(), one))), 200)).toBe(15)
    expectError(
      await askFor(server, aPhone(), one),
      429,
      'over_sms_send_rate_limit',
      'SMS rate limit exceeded',
    )
    expect(count(await statuses(times(20, () => askFor(server, aPhone()))), 200)).toBe(15)
  })

  it('limit one number to ten an hour, no matter who asks', async () => {
    const server = await anSmsServer({ AUTH_SMS_MAX_FREQUENCY: '0' })
    const phone = aPhone()
    const seen: number[] = []
    for (let round = 0; round < 12; round += 1) seen.push((await askFor(server, phone)).status)
    expect(count(seen, 200)).toBe(10)
    expect((await askFor(server, aPhone())).status).toBe(200)
    server.clock.advance(3_600_000)
    expect((await askFor(server, phone)).status).toBe(200)
  })

  it('count an SMS that a request for an email address leads to', async () => {
    const gateway = await startSmsGateway()
    const settings = {
      ...gateway.env,
      AUTH_RATE_LIMIT_HEADER: 'X-Client',
      AUTH_RATE_LIMIT_SMS_SENT_PER_RECIPIENT: '3',
      AUTH_SMS_MAX_FREQUENCY: '0',
    }
    const server = await sharedServer(settings, (env) => startServer(env, { smsUrls: gateway.urls }))
    const phone = aPhone()
    const { access_token: token, email } = await aUser(server)
    await put(server, '/user', { phone }, { token, ...aClient() })
    for (let round = 0; round < 5; round += 1)
      expect((await post(server, '/resend', { type: 'phone_change', email }, aClient())).status).toBe(200)
    expect(gateway.messages).toHaveLength(3)
    await gateway.close()
  })

  it('count the codes of second factors, and keep sign-in codes of strangers from using them up', async () => {
    const server = await anSmsServer({
      AUTH_RATE_LIMIT_SMS_SENT_PER_RECIPIENT: '2',
      AUTH_SMS_MAX_FREQUENCY: '0',
      AUTH_MFA_PHONE_MAX_FREQUENCY: '0',
      AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
      AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
    })
    const { access_token: token } = await aUser(server)
    const phone = aPhone()
    const factor = await post(server, '/factors', { factor_type: 'phone', phone }, { token })
    const challenge = () =>
      post(server, `/factors/${String(factor.body['id'])}/challenge`, {}, { token, ...aClient() })
    for (const expected of [200, 200, 429]) expect((await askFor(server, phone)).status).toBe(expected)
    for (let round = 0; round < 2; round += 1) expect((await challenge()).status).toBe(200)
    expectError(await challenge(), 429, 'over_sms_send_rate_limit', 'SMS rate limit exceeded')
  })
})
