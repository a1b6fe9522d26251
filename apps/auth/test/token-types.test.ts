import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { anEmail, aUser, expectError, PASSWORD, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

const TYPES = ['signup', 'invite', 'recovery', 'magiclink', 'email_change', 'email', 'sms', 'phone_change']

/** The secrets that an email of a kind carries. */
async function secretsOf(kind: string) {
  const isNew = kind === 'signup' || kind === 'invite'
  const email = isNew ? anEmail() : (await aUser(server)).email
  const body = {
    type: kind,
    email,
    new_email: anEmail(),
    ...(kind === 'signup' ? { password: PASSWORD } : {}),
  }
  const made = await post(server, '/admin/generate_link', body, { token: serviceToken() })
  expect(made.status).toBe(200)
  const address = kind === 'email_change_new' ? body.new_email : email
  return { token: String(made.body['hashed_token']), code: String(made.body['email_otp']), address }
}

it.each([
  ['signup', ['signup', 'email']],
  ['invite', ['invite', 'signup', 'email']],
  ['magiclink', ['magiclink', 'recovery', 'email']],
  ['recovery', ['recovery', 'magiclink', 'email']],
  ['email_change_current', ['email_change']],
  ['email_change_new', ['email_change']],
])('the secrets of an email of type %s are good for %j and nothing else', async (kind, types) => {
  const { token, code, address } = await secretsOf(kind)
  for (const type of TYPES.filter((other) => !types.includes(other))) {
    expectError(await post(server, '/verify', { type, token }), 403, 'otp_expired')
    if (type !== 'sms' && type !== 'phone_change')
      expectError(await post(server, '/verify', { type, token: code, email: address }), 403, 'otp_expired')
  }
  // In the older API version, a request of type signup also needs a password if the user has none.
  const versioned = { versioned: true }
  for (const type of types) {
    const link = await secretsOf(kind)
    expect((await post(server, '/verify', { type, token: link.token }, versioned)).status).toBe(200)
    const typed = await secretsOf(kind)
    const proof = { type, token: typed.code, email: typed.address }
    expect((await post(server, '/verify', proof, versioned)).status).toBe(200)
  }
})
