import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, expectError, PASSWORD, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'
import { createPasswordHasher, type PasswordHasher } from '../src/passwords/password-hasher.js'

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN

describe('what strangers learn about accounts (14.1)', () => {
  let server: TestServer
  let hasher: PasswordHasher
  beforeAll(async () => {
    // At the real cost, because the time it takes is what is compared.
    hasher = createPasswordHasher({ threads: 1 })
    server = await startServer({}, { hasher })
  })
  afterAll(async () => {
    await server.close()
    await hasher.close()
  })
  const signIn = (email: string, password: string) =>
    post(server, '/token?grant_type=password', { email, password })

  it('one body for an unknown user, one without password and a wrong password', async () => {
    const user = await aUser(server)
    const invited = anEmail()
    await post(server, '/invite', { email: invited }, { token: serviceToken() })
    const answers = [
      await signIn(anEmail(), 'wrong password'),
      await signIn(invited, 'wrong password'),
      await signIn(user.email, 'wrong password'),
    ]
    for (const answer of answers) expectError(answer, 400, 'invalid_credentials')
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  })

  it('about one time for all three', async () => {
    const user = await aUser(server)
    const timeOf = async (email: string) => {
      const startedAt = performance.now()
      await signIn(email, 'wrong password')
      return performance.now() - startedAt
    }
    const [known, unknown]: [number[], number[]] = [[], []]
    // Taken in turns, so that a busy machine slows both alike.
    for (let round = 0; round < 9; round += 1) {
      known.push(await timeOf(user.email))
      unknown.push(await timeOf(anEmail()))
    }
    const ratio = median(unknown) / median(known)
    expect(ratio).toBeGreaterThan(0.6)
    expect(ratio).toBeLessThan(1.6)
  })

  it('nothing about confirmation or a ban without the right password', async () => {
    const unconfirmed = anEmail()
    await post(server, '/signup', { email: unconfirmed, password: PASSWORD })
    expectError(await signIn(unconfirmed, 'wrong password'), 400, 'invalid_credentials')
    expectError(await signIn(unconfirmed, PASSWORD), 400, 'email_not_confirmed')
    const banned = await aUser(server)
    await server.context.db.query("update users set banned_until = 'infinity' where id = $1", [
      banned.user.id,
    ])
    expectError(await signIn(banned.email, 'wrong password'), 400, 'invalid_credentials')
    expectError(await signIn(banned.email, PASSWORD), 400, 'user_banned')
  })

  it('nothing from /recover and /resend', async () => {
    const user = await aUser(server)
    const ask = async (path: string, email: string) => {
      const { status, body } = await post(server, path, { email, type: 'signup' })
      return { status, keys: Object.keys(body) }
    }
    for (const path of ['/recover', '/resend'])
      expect(await ask(path, user.email)).toEqual(await ask(path, anEmail()))
  })
})
