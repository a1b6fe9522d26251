import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import {
  aPhone,
  aUser,
  expectError,
  get,
  PASSWORD,
  post,
  put,
  type Json,
  type Session,
  type SignedUp,
} from './support/api.js'
import type { TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'
import { standingAlone, startSmsServer, type SmsGateway } from './support/sms-gateway.js'

const TEST_PHONE = '4915199999999'

describe('phone factors', () => {
  let gateway: SmsGateway
  let server: TestServer
  beforeAll(async () => {
    ;({ gateway, server } = await startSmsServer({
      AUTH_MAILER_AUTOCONFIRM: 'true',
      AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
      AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
      AUTH_MFA_PHONE_TEMPLATE: 'Second step: {{ .Code }}',
      AUTH_SMS_TEST_OTP: `${TEST_PHONE}:424242`,
    }))
  })
  afterAll(() => server.close())
  beforeEach(() => gateway.refuse(false))

  const enroll = (user: SignedUp, body: Json) =>
    post(server, '/factors', { factor_type: 'phone', ...body }, { token: user.access_token })
  const challenge = (user: SignedUp, id: unknown, body: Json = {}) =>
    post(server, `/factors/${String(id)}/challenge`, body, { token: user.access_token })
  const verify = (user: SignedUp, id: unknown, challengeId: unknown, code: string) =>
    post(
      server,
      `/factors/${String(id)}/verify`,
      { challenge_id: challengeId, code },
      { token: user.access_token },
    )

  async function aFactor(phone = aPhone()) {
    const user = await aUser(server)
    const { body } = await enroll(user, { phone, friendly_name: 'mobile' })
    return { user, phone, id: body['id'] as string }
  }

  it('returns the number as it is stored', async () => {
    const user = await aUser(server)
    const answer = await enroll(user, { phone: '+49 151 1234 5678', friendly_name: 'mobile' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      id: expect.any(String) as unknown,
      type: 'phone',
      friendly_name: 'mobile',
      phone: '4915112345678',
    })
  })

  it.each([undefined, '', 'call me', '0123'])('refuses the number %j', async (phone) => {
    expectError(await enroll(await aUser(server), { phone }), 400, 'validation_failed')
  })

  it('sends a code in the factor template, and accepts it for aal2', async () => {
    const { user, phone, id } = await aFactor()
    const asked = await challenge(user, id)
    expect(asked.body).toMatchObject({ type: 'phone' })
    expect(gateway.messages.at(-1)).toEqual({
      to: `+${phone}`,
      text: expect.stringMatching(/^Second step: \d{6}$/) as unknown,
      channel: 'sms',
    })
    server.clock.advance(1000)
    const verified = await verify(user, id, asked.body['id'], gateway.codeFor(phone))
    expect(verified.status).toBe(200)
    const claims = decodeJwt((verified.body as Session).access_token)
    expect(claims).toMatchObject({ aal: 'aal2', amr: [{ method: 'mfa/phone' }, { method: 'password' }] })
    expect(JSON.stringify(server.lines)).not.toMatch(standingAlone(gateway.codeFor(phone)))
  })

  it('sends by WhatsApp when asked to, and refuses other channels', async () => {
    const { user, phone, id } = await aFactor()
    expectError(await challenge(user, id, { channel: 'pigeon' }), 400, 'validation_failed')
    expect((await challenge(user, id, { channel: 'whatsapp' })).status).toBe(200)
    expect(gateway.messages.at(-1)).toMatchObject({ to: `whatsapp:+${phone}`, channel: 'whatsapp' })
  })

  it('does not accept the code of another challenge, or a wrong one', async () => {
    const { user, phone, id } = await aFactor()
    const first = await challenge(user, id)
    const code = gateway.codeFor(phone)
    server.clock.advance(60_000)
    const second = await challenge(user, id)
    const wrong = await verify(user, id, second.body['id'], gateway.codeFor(phone) === code ? '000000' : code)
    expectError(wrong, 422, 'mfa_verification_failed', /^Invalid MFA Phone code/)
    expect((await verify(user, id, first.body['id'], code)).status).toBe(200)
  })

  it('with another number set by an administrator owe nothing to the former one', async () => {
    const { user, phone, id } = await aFactor()
    const asked = await challenge(user, id)
    const raised = await verify(user, id, asked.body['id'], gateway.codeFor(phone))
    server.clock.advance(60_000)
    const signedIn = await post(server, '/token?grant_type=password', {
      email: user.email,
      password: PASSWORD,
    })
    const late = { ...user, ...(signedIn.body as Session) }
    const outstanding = await challenge(late, id)
    const path = `/admin/users/${user.user.id}/factors/${id}`
    expect((await put(server, path, { phone: aPhone() }, { token: serviceToken() })).status).toBe(200)
    const answer = await verify(late, id, outstanding.body['id'], gateway.codeFor(phone))
    expectError(answer, 422, 'mfa_verification_failed')
    const refreshed = await post(server, '/token?grant_type=refresh_token', {
      refresh_token: raised.body['refresh_token'],
    })
    expect(decodeJwt((refreshed.body as Session).access_token)).toMatchObject({ aal: 'aal1' })
  })

  it('sends again only after 60 s, and sends one SMS for many parallel requests', async () => {
    const { user, phone, id } = await aFactor()
    const sent = () => gateway.messages.filter(({ to }) => to === `+${phone}`).length
    const answers = await Promise.all(Array.from({ length: 5 }, () => challenge(user, id)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(sent()).toBe(1)
    server.clock.advance(59_000)
    const early = await challenge(user, id)
    expectError(early, 429, 'over_sms_send_rate_limit')
    expect(early.headers.get('retry-after')).toBe('1')
    server.clock.advance(1000)
    expect((await challenge(user, id)).status).toBe(200)
    expect(sent()).toBe(2)
  })

  it('leaves no challenge and no interval behind when the gateway refuses the message', async () => {
    const { user, id } = await aFactor()
    gateway.refuse(true)
    expect((await challenge(user, id)).status).toBe(200)
    const { rows } = await server.context.db.query('select 1 from mfa_challenges where factor_id = $1', [id])
    expect(rows).toHaveLength(0)
    gateway.refuse(false)
    expect((await challenge(user, id)).status).toBe(200)
  })

  it('replaces an unverified factor with the same number, but not a verified one', async () => {
    const { user, phone, id } = await aFactor()
    const again = await enroll(user, { phone, friendly_name: 'mobile' })
    expect(again.status).toBe(200)
    expectError(await challenge(user, id), 404, 'mfa_factor_not_found')
    const asked = await challenge(user, again.body['id'])
    const verified = await verify(user, again.body['id'], asked.body['id'], gateway.codeFor(phone))
    const strong = { ...user, ...(verified.body as Session) }
    expectError(await enroll(strong, { phone, friendly_name: 'other' }), 422, 'mfa_verified_factor_exists')
    expect((await enroll(strong, { phone: aPhone(), friendly_name: 'other' })).status).toBe(200)
  })

  it('sends nothing to a test number, whose code is fixed', async () => {
    const { user, id } = await aFactor(TEST_PHONE)
    const before = gateway.messages.length
    const asked = await challenge(user, id)
    expect(gateway.messages).toHaveLength(before)
    expect((await verify(user, id, asked.body['id'], '424242')).status).toBe(200)
    const { body } = await get(server, '/user', { token: user.access_token })
    expect(body['factors']).toEqual([expect.objectContaining({ phone: TEST_PHONE, status: 'verified' })])
  })
})
