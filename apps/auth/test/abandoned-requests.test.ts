import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { createPasswordHasher, type PasswordHasher } from '../src/passwords/password-hasher.js'
import { anEmail, aUser, PASSWORD, post, type SignedUp } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const real = createPasswordHasher({ cost: 4, threads: 1 })
/** While true, hashing does not finish until the request is abandoned. */
let stalling = false
let stalled: (AbortSignal | undefined)[] = []
const stall = (signal: AbortSignal | undefined): Promise<never> => {
  stalled.push(signal)
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
const hasher: PasswordHasher = {
  ...real,
  hash: (password, caller) => (stalling ? stall(caller?.signal) : real.hash(password, caller)),
  verify: (hash, password, caller) =>
    stalling ? stall(caller?.signal) : real.verify(hash, password, caller),
  firstMatch: (hashes, password, caller) =>
    stalling ? stall(caller?.signal) : real.firstMatch(hashes, password, caller),
}

let server: TestServer
let user: SignedUp
beforeAll(async () => {
  server = await startServer({}, { hasher })
  user = await aUser(server)
})
afterAll(async () => {
  await server.close()
  await real.close()
})

type Attempt = { method?: string; path: string; body: object; token?: string }
const NEW_PASSWORD = 'another correct horse'

describe('hashing for a client that hangs up', () => {
  it.each<[string, () => Attempt | Promise<Attempt>]>([
    ['sign-up', () => ({ path: '/signup', body: { email: anEmail(), password: PASSWORD } })],
    [
      'sign-in of a user',
      () => ({ path: '/token?grant_type=password', body: { email: user.email, password: PASSWORD } }),
    ],
    [
      'sign-in of nobody',
      () => ({ path: '/token?grant_type=password', body: { email: anEmail(), password: PASSWORD } }),
    ],
    [
      'change of the password',
      () => ({ method: 'PUT', path: '/user', body: { password: NEW_PASSWORD }, token: user.access_token }),
    ],
    [
      'acceptance of an invitation',
      async () => {
        const email = anEmail()
        const link = await post(
          server,
          '/admin/generate_link',
          { type: 'invite', email },
          { token: serviceToken() },
        )
        const token = link.body['hashed_token']
        return { path: '/verify', body: { type: 'signup', token_hash: token, password: PASSWORD } }
      },
    ],
    [
      'user made by an administrator',
      () => ({
        path: '/admin/users',
        body: { email: anEmail(), password: PASSWORD },
        token: serviceToken(),
      }),
    ],
    [
      'password set by an administrator',
      () => ({
        method: 'PUT',
        path: `/admin/users/${user.user.id}`,
        body: { password: NEW_PASSWORD },
        token: serviceToken(),
      }),
    ],
    [
      'generated link',
      () => ({
        path: '/admin/generate_link',
        body: { type: 'signup', email: anEmail(), password: PASSWORD },
        token: serviceToken(),
      }),
    ],
  ])('is cancelled: %s', async (_, attempt) => {
    const { method = 'POST', path, body, token } = await attempt()
    const given = new AbortController()
    ;[stalling, stalled] = [true, []]
    try {
      const request = fetch(`${server.url}${path}`, {
        method,
        body: JSON.stringify(body),
        headers: {
          ...(path === '/verify' ? {} : { 'X-Supabase-Api-Version': '2024-01-01' }),
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        },
        signal: given.signal,
      }).catch(() => undefined)
      await waitFor(() => stalled.length === 1)
      const [signal] = stalled
      expect(signal).toBeInstanceOf(AbortSignal)
      given.abort()
      await request
      await waitFor(() => signal?.aborted === true)
    } finally {
      stalling = false
    }
  })
})
