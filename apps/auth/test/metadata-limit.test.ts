import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
  expectError,
  get,
  mailTo,
  PASSWORD,
  post,
  type CallOptions,
  type Json,
} from './support/api.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { claimsOf, serviceToken } from './support/tokens.js'

const admin: CallOptions = { token: serviceToken() }
const notes = (length: number): Json => ({ notes: 'x'.repeat(length) })

let server: TestServer
beforeAll(async () => {
  server = await startServer(NO_EMAIL_GAPS)
})
afterAll(() => server.close())

/** Creates an account as an administrator. Nobody has proven its address, and its metadata is almost as large as a token allows. */
async function anAccountWithLargeAppMetadata(): Promise<string> {
  const email = anEmail()
  const created = await post(server, '/admin/users', { email, app_metadata: notes(6000) }, admin)
  expect(created.status).toBe(200)
  return email
}

const bytesOf = ({ user_metadata, app_metadata }: Json): number =>
  Buffer.byteLength(JSON.stringify(user_metadata)) + Buffer.byteLength(JSON.stringify(app_metadata))

describe('the limit of both kinds of metadata together', () => {
  it.each<[string, string, Json]>([
    ['an invitation', '/invite', {}],
    ['an invitation by link', '/admin/generate_link', { type: 'invite' }],
    ['a sign-up by link', '/admin/generate_link', { type: 'signup', password: PASSWORD }],
    ['a magic link', '/admin/generate_link', { type: 'magiclink' }],
    ['a recovery by link', '/admin/generate_link', { type: 'recovery' }],
  ])('counts app_metadata for the data of %s', async (_, path, body) => {
    const email = await anAccountWithLargeAppMetadata()
    const answer = await post(server, path, { ...body, email, data: notes(6000) }, admin)
    expectError(answer, 400, 'validation_failed', /8192 fit into access tokens/)
    expect((await post(server, path, { ...body, email, data: notes(1000) }, admin)).status).toBe(200)
  })

  it('holds when a proof brings the data of a sign-up: what fits is kept, the shortest members first', async () => {
    const email = await anAccountWithLargeAppMetadata()
    const data = { name: 'Ann', ...notes(6000) }
    expect((await post(server, '/signup', { email, password: PASSWORD, data })).status).toBe(200)
    const { token } = await mailTo(server, email)
    const { status, body } = await post(server, '/verify', { type: 'signup', token })
    expect(status).toBe(200)
    const claims = claimsOf(body['access_token'])
    expect(claims).toMatchObject({ user_metadata: { name: 'Ann', email_verified: true } })
    expect(bytesOf(claims)).toBeLessThan(8192)
    expect((await get(server, '/user', { token: String(body['access_token']) })).status).toBe(200)
  })

  it.each(['/signup', '/otp'])(
    'is the same for the data of %s and for the account that it makes',
    async (path) => {
      const empty = bytesOf({
        user_metadata: { notes: '' },
        app_metadata: { provider: 'email', providers: ['email'] },
      })
      const request = (length: number) => ({ email: anEmail(), password: PASSWORD, data: notes(length) })
      expectError(await post(server, path, request(8193 - empty)), 400, 'validation_failed')
      const largest = request(8192 - empty)
      expect((await post(server, path, largest)).status).toBe(200)
      const { token } = await mailTo(server, largest.email)
      const { body } = await post(server, '/verify', { type: 'signup', token })
      expect(claimsOf(body['access_token'])).toMatchObject({ user_metadata: largest.data })
    },
  )
})
