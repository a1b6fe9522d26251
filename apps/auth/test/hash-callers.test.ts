import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { overCapacity } from '../src/passwords/over-capacity.js'
import { createPasswordHasher, type PasswordHasher } from '../src/passwords/password-hasher.js'
import {
  anEmail,
  aUser,
  call,
  expectError,
  PASSWORD,
  post,
  put,
  type ApiAnswer,
  type Json,
  type SignedUp,
} from './support/api.js'
import { FORWARDED, from, statuses, tokenPath } from './support/guessing.js'
import { passwordHashOf } from './support/password-hash.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const real = createPasswordHasher({ cost: 4, threads: 1 })
/** For each job, whether it came from a known caller. */
let jobs: boolean[] = []
/** What the queue refuses, as if it were full. */
let refused: 'comparisons' | 'new hashes' | undefined
const hasher: PasswordHasher = {
  ...real,
  hash(password, caller) {
    jobs.push(caller.isKnown)
    return refused === 'new hashes' ? Promise.reject(overCapacity()) : real.hash(password, caller)
  },
  verify(hash, password, caller) {
    jobs.push(caller.isKnown)
    return real.verify(hash, password, caller)
  },
  firstMatch(hashes, password, caller) {
    jobs.push(caller.isKnown)
    return refused === 'comparisons'
      ? Promise.reject(overCapacity())
      : real.firstMatch(hashes, password, caller)
  },
}

let server: TestServer
beforeAll(async () => {
  server = await startServer({ ...FORWARDED, AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' }, { hasher })
})
afterAll(async () => {
  await server.close()
  await real.close()
})

const ELSEWHERE = from('203.0.113.200')
const admin = { ...ELSEWHERE, token: serviceToken() }
const signIn = (email: string, where: ReturnType<typeof from>) =>
  post(server, tokenPath, { email, password: PASSWORD }, where)

/** A session in a network that the account does not know. */
async function aSession(): Promise<SignedUp> {
  const user = await aUser(server)
  jobs = []
  return user
}

/** Known callers have separate room and turns in the queue (decision 0031). */
describe('whoever has proven something', () => {
  const withSession = (method: string, path: string, body: Json) => async () =>
    call(server, method, path, { ...ELSEWHERE, body, token: (await aSession()).access_token })
  const withToken = (method: string, path: (id: string) => string, body: () => Json) => async () =>
    call(server, method, path((await aSession()).user.id), { ...admin, body: body(), versioned: true })

  it.each<[string, () => Promise<{ status: number }>]>([
    [
      'makes a user as an administrator',
      withToken(
        'POST',
        () => '/admin/users',
        () => ({ email: anEmail(), password: PASSWORD }),
      ),
    ],
    [
      'sets a password as an administrator',
      withToken(
        'PUT',
        (id) => `/admin/users/${id}`,
        () => ({ password: 'another password' }),
      ),
    ],
    [
      'makes a link as an administrator',
      withToken(
        'POST',
        () => '/admin/generate_link',
        () => ({
          type: 'signup',
          email: anEmail(),
          password: PASSWORD,
        }),
      ),
    ],
    ['changes the password in a session', withSession('PUT', '/user', { password: 'another password' })],
    [
      'chooses the first password in a session',
      async () => {
        const email = anEmail()
        await post(server, '/admin/users', { email, email_confirm: true }, admin)
        const link = await post(server, '/admin/generate_link', { type: 'magiclink', email }, admin)
        const verified = await post(server, '/verify', {
          type: 'magiclink',
          token_hash: link.body['hashed_token'],
        })
        jobs = []
        const token = String(verified.body['access_token'])
        return put(server, '/user', { password: PASSWORD }, { ...ELSEWHERE, token })
      },
    ],
    [
      'signs in from a network that the account knows',
      async () => {
        const { email } = await aSession()
        await signIn(email, ELSEWHERE)
        jobs = []
        return signIn(email, ELSEWHERE)
      },
    ],
  ])('is no stranger: %s', async (_, request) => {
    expect((await request()).status).toBe(200)
    expect(jobs.length).toBeGreaterThan(0)
    expect(new Set(jobs)).toEqual(new Set([true]))
  })
})

describe('whoever has proven nothing', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['signs up', () => post(server, '/signup', { email: anEmail(), password: PASSWORD }, ELSEWHERE)],
    ['signs in from another network', async () => signIn((await aSession()).email, ELSEWHERE)],
    ['signs in to no account', () => signIn(anEmail(), ELSEWHERE)],
    [
      'chooses a password as a guest',
      async () => {
        const { body } = await post(server, '/signup', {}, ELSEWHERE)
        const token = String(body['access_token'])
        return put(server, '/user', { email: anEmail(), password: PASSWORD }, { ...ELSEWHERE, token })
      },
    ],
  ])('is a stranger: %s', async (_, request) => {
    jobs = []
    await request()
    expect(jobs.length).toBeGreaterThan(0)
    expect(new Set(jobs)).toEqual(new Set([false]))
  })
})

describe('a sign-in for which the queue has no room', () => {
  it('uses up nothing of what the client may do, as often as it may do it', async () => {
    const { email } = await aUser(server)
    const client = from('198.51.100.31')
    const refusals = async (count: number) => {
      const answers: ApiAnswer[] = []
      refused = 'comparisons'
      for (let n = 0; n < count; n += 1) answers.push(await signIn(anEmail(), client))
      refused = undefined
      return statuses(answers)
    }
    expect(await refusals(30)).toEqual(Array<number>(30).fill(503))
    expect((await signIn(email, client)).status).toBe(200)
    // From here on, refused sign-ins count like others, and one sign-in has already been served.
    expect(await refusals(30)).toEqual([...Array<number>(29).fill(503), 429])
    expectError(await signIn(email, client), 429, 'over_request_rate_limit')
  })

  it('succeeds although its hash cannot be renewed now', async () => {
    const email = anEmail()
    const old = createPasswordHasher({ cost: 5, threads: 1 })
    const hash = await old.hash(PASSWORD)
    await old.close()
    await post(server, '/admin/users', { email, password_hash: hash, email_confirm: true }, admin)
    refused = 'new hashes'
    expect((await signIn(email, ELSEWHERE)).status).toBe(200)
    expect(await passwordHashOf(server, email)).toBe(hash)
    refused = undefined
    expect((await signIn(email, ELSEWHERE)).status).toBe(200)
    expect(await passwordHashOf(server, email)).not.toBe(hash)
  })
})
