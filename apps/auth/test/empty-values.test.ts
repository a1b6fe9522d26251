import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { LINK_TYPES } from '../src/admin/link-types.js'
import { anEmail, aUser, call, expectError, mailTo, post, UUID, type Json } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

const admin = { token: serviceToken() }

describe('an empty password', () => {
  const EMPTY = { password: '' }

  it.each(LINK_TYPES)('is refused for a generated link of type %s', async (type) => {
    const { email } = await aUser(server)
    const body = { type, email, new_email: anEmail(), ...EMPTY }
    expectError(await post(server, '/admin/generate_link', body, admin), 400, 'validation_failed', 'password')
  })

  it.each<[string, string]>([
    ['POST', '/admin/users'],
    ['POST', `/admin/users/${UUID.replace(/.$/, '1')}`],
  ])('is refused for a new user by %s %s', async (method, path) => {
    const body = { email: anEmail(), ...EMPTY }
    expectError(await call(server, method, path, { body, ...admin }), 400, 'validation_failed', 'password')
  })

  it.each([false, true])(
    'is refused for a user that an administrator changes, versioned: %p',
    async (versioned) => {
      const { user } = await aUser(server)
      const options = { body: EMPTY, versioned, ...admin }
      const answer = await call(server, 'PUT', `/admin/users/${user.id}`, options)
      expectError(answer, 400, 'validation_failed', 'password')
    },
  )

  it('is refused for a user who changes it, and where one signs up or in', async () => {
    const { access_token: token, email } = await aUser(server)
    expectError(await call(server, 'PUT', '/user', { body: EMPTY, token }), 422, 'weak_password')
    expectError(await post(server, '/signup', { email: anEmail(), ...EMPTY }), 400, 'validation_failed')
    const grant = await post(server, '/token?grant_type=password', { email, ...EMPTY })
    expect(grant.status).toBe(400)
  })

  it('is refused with a code, which still works afterwards', async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: 'correct horse battery' })
    const { code } = await mailTo(server, email)
    const proof = { type: 'signup', email, token: code }
    expectError(await post(server, '/verify', { ...proof, ...EMPTY }), 400, 'validation_failed', 'password')
    expect((await post(server, '/verify', proof)).status).toBe(200)
  })
})

it.each<[string, Json]>([
  ['/otp', { channel: '', code_challenge: '', code_challenge_method: '' }],
  ['/recover', { code_challenge: '', code_challenge_method: '' }],
])('%s takes empty texts for what may be left out', async (path, empty) => {
  expect((await post(server, path, { email: anEmail(), ...empty })).status).toBe(200)
})
