import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { aPhone, aUser, expectError, get, PASSWORD, post, put } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { startSmsServer, type SmsGateway } from './support/sms-gateway.js'

/** Two servers of one database: a deployment before and after its operator switched phones off. */
let gateway: SmsGateway
let before: TestServer
let after: TestServer
beforeAll(async () => {
  ;({ gateway, server: before } = await startSmsServer({ AUTH_SMS_MAX_FREQUENCY: '0' }))
  after = await startServer(
    {
      ...gateway.env,
      AUTH_EXTERNAL_PHONE_ENABLED: 'false',
      AUTH_SMS_MAX_FREQUENCY: '0',
      DATABASE_URL: before.databaseUrl,
    },
    { smsUrls: gateway.urls, now: before.clock.now },
  )
})
afterAll(async () => {
  await after.close()
  await before.close()
})

const textsTo = (phone: string) => gateway.messages.filter(({ to }) => to.endsWith(phone)).length

it('resends no code of a change, whichever address names the account', async () => {
  const { email, access_token: token } = await aUser(before)
  const phone = aPhone()
  expect((await put(before, '/user', { phone }, { token })).status).toBe(200)
  await waitFor(() => textsTo(phone) === 1)
  const answer = await post(after, '/resend', { type: 'phone_change', email })
  expectError(answer, 400, 'phone_provider_disabled')
  expect(textsTo(phone)).toBe(1)
})

it('sends no nonce to the phone of an account without an email address', async () => {
  const phone = aPhone()
  await post(before, '/signup', { phone, password: PASSWORD })
  const code = { type: 'sms', phone, token: gateway.codeFor(phone) }
  const { body } = await post(before, '/verify', code)
  const answer = await get(after, '/reauthenticate', { token: String(body['access_token']) })
  expectError(answer, 400, 'phone_provider_disabled')
  expect(textsTo(phone)).toBe(1)
})
