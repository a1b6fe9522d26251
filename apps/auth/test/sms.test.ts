import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aPhone, expectError, get, PASSWORD, post, put, type Json } from './support/api.js'
import type { TestServer } from './support/server.js'
import { startSmsServer, type SmsGateway } from './support/sms-gateway.js'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

describe('codes by SMS, through a gateway', () => {
  let gateway: SmsGateway
  let server: TestServer
  beforeAll(async () => {
    ;({ gateway, server } = await startSmsServer({
      AUTH_SMS_TEMPLATE: 'App: {{ .Code }}',
      AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
    }))
  })
  afterAll(() => server.close())
  const sentTo = (phone: string) => gateway.messages.filter(({ to }) => to.endsWith(phone))
  const verify = (phone: string, type = 'sms') =>
    post(server, '/verify', { type, phone, token: gateway.codeFor(phone) })

  it('sign up and in; the answer is empty, or for versioned requests the id of the message', async () => {
    const phone = aPhone()
    const first = await post(server, '/otp', { phone })
    expect([first.status, first.text]).toEqual([200, '{}'])
    expect(sentTo(phone)).toMatchObject([
      { text: expect.stringMatching(/^App: \d{6}$/) as unknown, channel: 'sms' },
    ])
    const { body } = await verify(phone)
    expect(body['user']).toMatchObject({ phone, phone_confirmed_at: expect.any(String) as unknown })
    expectError(await verify(phone), 403, 'otp_expired')
    server.clock.advance(60_000)
    const again = await post(server, '/otp', { phone }, { versioned: true })
    expect(again.body).toEqual({ message_id: expect.stringMatching(UUID) as unknown })
    const stranger = await post(server, '/otp', { phone: aPhone() }, { versioned: true })
    expect(stranger.body).toEqual({ message_id: expect.stringMatching(UUID) as unknown })
  })

  it('are sent by WhatsApp on request, and by no other channel', async () => {
    const phone = aPhone()
    await post(server, '/signup', { phone, password: PASSWORD, channel: 'whatsapp' })
    expect(sentTo(phone)[0]?.to).toBe(`whatsapp:+${phone}`)
    expectError(await post(server, '/otp', { phone, channel: 'fax' }), 400, 'validation_failed')
  })

  it('leave neither code nor interval behind when the gateway refuses them', async () => {
    const phone = aPhone()
    gateway.refuse(true)
    for (const [path, body] of [
      ['/signup', { phone, password: PASSWORD }],
      ['/otp', { phone }],
      ['/resend', { type: 'sms', phone }],
    ] as [string, Json][]) {
      expect((await post(server, path, body)).status).toBe(200)
      server.clock.advance(60_000)
    }
    gateway.refuse(false)
    const { rows } = await server.context.db.query(
      `select 1 as found from one_time_tokens t join users u on u.id = t.user_id where u.phone = $1`,
      [phone],
    )
    expect(rows).toEqual([])
    expect((await post(server, '/otp', { phone })).status).toBe(200)
    expect((await verify(phone)).status).toBe(200)
  })

  it('are logged with the ids of the gateway and of the request', async () => {
    const phone = aPhone()
    const { headers } = await post(server, '/otp', { phone })
    const of = headers.get('x-request-id')
    const line = server.lines.find(
      (each) => each.msg === 'the gateway took an SMS' && each['request_id'] === of,
    )
    expect(line).toMatchObject({
      message_id: expect.stringMatching(UUID) as unknown,
      gateway_message_id: expect.stringMatching(/^SM/) as unknown,
    })
  })

  it('have separate intervals: confirmation, change of number and nonce', async () => {
    const [phone, other] = [aPhone(), aPhone()]
    await post(server, '/otp', { phone })
    const token = String((await verify(phone)).body['access_token'])
    const nonce = () => get(server, '/reauthenticate', { token })
    const change = () => put(server, '/user', { phone: other }, { token })
    expect((await nonce()).body).toEqual({ message_id: expect.stringMatching(UUID) as unknown })
    expect((await change()).body).toMatchObject({ phone, new_phone: other })
    expectError(await nonce(), 429, 'over_sms_send_rate_limit')
    expectError(await change(), 429, 'over_sms_send_rate_limit')
    expect((await verify(other, 'phone_change')).body['user']).toMatchObject({ phone: other })
  })

  it('deliver a nonce to users without email, valid once and for 60 s', async () => {
    const phone = aPhone()
    await post(server, '/otp', { phone })
    const token = String((await verify(phone)).body['access_token'])
    const change = (nonce: string) =>
      put(server, '/user', { password: `${PASSWORD}${nonce}`, nonce }, { token })
    await get(server, '/reauthenticate', { token })
    const late = gateway.codeFor(phone)
    server.clock.advance(60_000)
    expectError(await change(late), 422, 'reauthentication_not_valid')
    await get(server, '/reauthenticate', { token })
    const nonce = gateway.codeFor(phone)
    expect((await change(nonce)).status).toBe(200)
    const again = { password: `${PASSWORD} again`, nonce }
    expectError(await put(server, '/user', again, { token }), 422, 'reauthentication_not_valid')
  })
})
