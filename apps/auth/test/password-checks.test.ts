import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createPasswordHasher, type PasswordHasher } from '../src/passwords/password-hasher.js'
import { anEmail, aUser, PASSWORD, post } from './support/api.js'
import { DEFAULTS, tokenPath } from './support/guessing.js'
import { startServer, type TestServer } from './support/server.js'

let submitted = 0
const real = createPasswordHasher({
  cost: 4,
  threads: 1,
  observe: (operation, phase) => void (submitted += operation === 'verify' && phase === 'submitted' ? 1 : 0),
})
/** While this is set, the client hangs up when a password has been compared, and the service notices before it continues. */
let leaving: AbortController | undefined
const leave = async <T>(result: T, signal: AbortSignal | undefined): Promise<T> => {
  if (leaving && signal) {
    leaving.abort()
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  }
  return result
}
const hasher: PasswordHasher = {
  ...real,
  firstMatch: async (hashes, password, caller) =>
    leave(await real.firstMatch(hashes, password, caller), caller?.signal),
}

let server: TestServer
beforeAll(async () => {
  server = await startServer(DEFAULTS, { hasher })
})
afterAll(async () => {
  await server.close()
  await real.close()
})
const wrongPassword = (email: string, signal?: AbortSignal) =>
  fetch(`${server.url}${tokenPath}`, {
    method: 'POST',
    body: JSON.stringify({ email, password: 'wrong password' }),
    ...(signal ? { signal } : {}),
  })

describe('a wrong password', () => {
  it('waits for the hashing threads once, also where two hashes are compared', async () => {
    const [account, signedUp] = [(await aUser(server)).email, anEmail()]
    await post(server, '/signup', { email: signedUp, password: PASSWORD })
    const addresses = [account, signedUp, ...Array.from({ length: 18 }, anEmail)]
    submitted = 0
    const answers = await Promise.all(addresses.map((email) => wrongPassword(email)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]))
    expect(submitted).toBe(addresses.length)
  })

  it('counts as a guess if it was compared, although the client has hung up meanwhile', async () => {
    const { email } = await aUser(server)
    for (let n = 0; n < Number(DEFAULTS.AUTH_SECURITY_SIGN_IN_ATTEMPTS); n += 1) {
      leaving = new AbortController()
      await expect(wrongPassword(email, leaving.signal)).rejects.toThrow('aborted')
    }
    leaving = undefined
    expect((await wrongPassword(email)).status).toBe(429)
  })
})
