import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { aUser, expectError, post, type SignedUp } from './support/api.js'
import { FACTOR_ENVIRONMENT } from './support/factors.js'
import { from } from './support/guessing.js'
import { startServer, type TestServer } from './support/server.js'

const BURST = 3

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    ...FACTOR_ENVIRONMENT,
    AUTH_RATE_LIMIT_BURST: String(BURST),
    AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '60',
  })
})
afterAll(() => server.close())

const enroll = ({ access_token: token }: SignedUp, client: string) =>
  post(server, '/factors', { factor_type: 'totp' }, { token, ...from(client) })

it('enrollments of factors, each of which draws a QR code, have a limit for each client', async () => {
  const user = await aUser(server)
  for (let enrolled = 0; enrolled < BURST; enrolled += 1)
    expect((await enroll(user, '192.0.2.1')).status).toBe(200)
  expectError(await enroll(user, '192.0.2.1'), 429, 'over_request_rate_limit')
  const { status, body } = await enroll(user, '192.0.2.2')
  expect(status).toBe(200)
  // A client that may not enroll any more factors can still finish an enrollment.
  const options = { token: user.access_token, ...from('192.0.2.1') }
  expect((await post(server, `/factors/${String(body['id'])}/challenge`, {}, options)).status).toBe(200)
  server.clock.advance(1000)
  expect((await enroll(user, '192.0.2.1')).status).toBe(200)
})
