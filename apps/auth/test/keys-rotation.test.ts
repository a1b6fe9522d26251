import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { createRemoteJWKSet, decodeProtectedHeader, errors, jwtVerify } from 'jose'
import { readConfig } from '../src/config/read-config.js'
import { runKeysCommand } from '../src/keys/keys-command.js'
import { anEmail, get, PASSWORD, post, type Json } from './support/api.js'
import { createInstallation, MAIN, NO_MAIL_SERVER } from './support/process.js'

let installation: Awaited<ReturnType<typeof createInstallation>>
beforeAll(async () => {
  installation = await createInstallation({
    ...NO_MAIL_SERVER,
    AUTH_MAILER_AUTOCONFIRM: 'true',
    // The defaults, a few hundred times faster.
    AUTH_JWT_EXP: '3s',
    AUTH_JWT_JWKS_MAX_AGE: '1s',
    AUTH_JWT_KEY_ACTIVATION_DELAY: '3s',
    AUTH_JWT_KEYS_REFRESH_INTERVAL: '200ms',
    // Many requests from one address, on a machine that may be busy.
    AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '100000',
    AUTH_API_MAX_REQUEST_DURATION: '60s',
  })
})
afterAll(() => installation.close())

type Server = { url: string }

type Ran = { code: number; stdout: string; stderr: string }

/** Runs the command as an operator does. */
function keysProcess(...args: string[]): Promise<Ran> {
  const { folder, env } = installation
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, 'keys', ...args], { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr }),
    )
  })
}
/** Runs the command in the test's process, because starting another takes a second. */
async function keys(...args: string[]): Promise<Ran> {
  const ran: Ran = { code: 0, stdout: '', stderr: '' }
  const terminal = {
    out: (text: string) => void (ran.stdout += `${text}\n`),
    err: (text: string) => void (ran.stderr += `${text}\n`),
  }
  const { env } = installation
  ran.code = await runKeysCommand(() => readConfig(env), args, terminal)
  return ran
}
type Listed = { keys: { kid: string; alg: string; state: string }[] }
async function listed() {
  const { code, stdout } = await keys('list', '--json')
  expect(code).toBe(0)
  return (JSON.parse(stdout) as Listed).keys
}
/** Clients that never pause would keep the servers busy until a key expires, and would test nothing more. */
const pause = () => sleep(50)
/** Conditions that take seconds need not be checked fifty times a second. */
const SELDOM = { intervalMs: 200 }

describe('auth keys', () => {
  it('rotates and retires under two running servers without a failing token', async () => {
    const [one, two] = [await installation.start(), await installation.start()]
    const email = anEmail()
    expect((await post(one, '/signup', { email, password: PASSWORD })).status).toBe(200)
    // Verifies as another service does: with the JWK Set of one replica, cached for as long as its header allows.
    const jwks = createRemoteJWKSet(new URL(`${two.url}/.well-known/jwks.json`), { cacheMaxAge: 1000 })
    const verifiedPerKey = new Map<string | undefined, number>()
    const failures: unknown[] = []
    let on = true

    type Session = { access_token: string; refresh_token: string; expires_at: number }
    const signIn = async (server: Server): Promise<Session | undefined> => {
      const { status, body } = await post(server, '/token?grant_type=password', { email, password: PASSWORD })
      return status === 200 ? (body as Session) : undefined
    }
    const verify = async ({ access_token: token, expires_at: expiresAt }: Session, server: Server) => {
      const answer = await get(server, '/user', { token })
      // On a busy machine, the token may expire or the request may time out first. Neither says anything about keys.
      if (answer.status === 403 && Date.now() / 1000 < expiresAt) failures.push(answer.body)
      const payload = await jwtVerify(token, jwks).catch((error: unknown) => {
        if (!(error instanceof errors.JWTExpired)) failures.push(error)
      })
      const { kid } = decodeProtectedHeader(token)
      if (payload) verifiedPerKey.set(kid, (verifiedPerKey.get(kid) ?? 0) + 1)
    }
    const loop = async (signer: Server, verifier: Server) => {
      let session = await signIn(signer)
      while (on) {
        if (session) await verify(session, verifier)
        const grant = { refresh_token: session?.refresh_token ?? '' }
        const { status, body } = await post(signer, '/token?grant_type=refresh_token', grant)
        session = status === 200 ? (body as Session) : await signIn(signer)
        await pause()
      }
    }
    const loops = [loop(one, two), loop(two, one)]
    const untilVerified = (kid: string | undefined, times: number) =>
      waitFor(() => (verifiedPerKey.get(kid) ?? 0) >= times || failures.length > 0)
    try {
      const [first] = await listed()
      expect(first).toMatchObject({ alg: 'RS256', state: 'signing' })
      await untilVerified(first?.kid, 5)

      const rotated = await keysProcess('rotate', '--alg', 'es256', '--json')
      expect(rotated).toMatchObject({ code: 0, stderr: '' })
      const { kid: next } = JSON.parse(rotated.stdout) as { kid: string }
      await untilVerified(next, 5)

      await waitFor(async () => (await listed())[0]?.state === 'expired', SELDOM)
      expect(await keysProcess('retire', first?.kid ?? '')).toMatchObject({ code: 0, stderr: '' })
      const before = verifiedPerKey.get(next) ?? 0
      await untilVerified(next, before + 10)
      expect((await listed()).map(({ kid, alg, state }) => [kid, alg, state])).toEqual([
        [first?.kid, 'RS256', 'retired'],
        [next, 'ES256', 'signing'],
      ])
    } finally {
      on = false
      await Promise.all(loops)
    }
    expect(failures).toEqual([])
  }, 300_000)

  it("replaces a leaked key at once without a failing refresh, and refuses only that key's tokens", async () => {
    const longLived = { AUTH_JWT_EXP: '1h' }
    const servers = [await installation.start(longLived), await installation.start(longLived)] as const
    const email = anEmail()
    expect((await post(servers[0], '/signup', { email, password: PASSWORD })).status).toBe(200)
    const leaked = (await listed()).find(({ state }) => state === 'signing')?.kid ?? ''
    const accepted = new Map<string, number>()
    const failures: unknown[] = []
    let isRetiring = false
    let on = true

    const signIn = async () => {
      const answer = await post(servers[0], '/token?grant_type=password', { email, password: PASSWORD })
      expect(answer.status).toBe(200)
      return answer.body
    }
    /** Refreshes at one server and uses the token at both, again and again. */
    const client = async (home: Server, { refresh_token: first }: Json) => {
      let refreshToken = first
      while (on) {
        const { status, body } = await post(home, '/token?grant_type=refresh_token', {
          refresh_token: refreshToken,
        })
        if (status !== 200) return void failures.push({ status, body })
        refreshToken = body['refresh_token']
        const token = String(body['access_token'])
        const kid = String(decodeProtectedHeader(token).kid)
        for (const server of servers) {
          const answer = await get(server, '/user', { token })
          if (answer.status === 200) accepted.set(kid, (accepted.get(kid) ?? 0) + 1)
          else if (!isRetiring || kid !== leaked) failures.push({ kid, body: answer.body })
        }
        await pause()
      }
    }
    const sessions = [await signIn(), await signIn(), await signIn(), await signIn()]
    const clients = sessions.map((session, index) => client(servers[index % 2 === 0 ? 0 : 1], session))
    const untilAccepted = (kid: string, more: number) => {
      const wanted = (accepted.get(kid) ?? 0) + more
      return waitFor(() => (accepted.get(kid) ?? 0) >= wanted || failures.length > 0)
    }
    const acceptedBy = (token: string) =>
      Promise.all(servers.map(async (server) => (await get(server, '/user', { token })).status))
    try {
      await untilAccepted(leaked, 20)
      const stolen = String((await signIn())['access_token'])
      const { kid } = JSON.parse((await keys('rotate', '--now', '--json')).stdout) as { kid: string }
      await untilAccepted(kid, 20)
      expect(await acceptedBy(stolen)).toEqual([200, 200])

      isRetiring = true
      expect(await keys('retire', leaked, '--force')).toMatchObject({ code: 0, stderr: '' })
      await waitFor(async () => (await acceptedBy(stolen)).every((status) => status === 403))
      await untilAccepted(kid, 20)
    } finally {
      on = false
      await Promise.all(clients)
    }
    expect(failures).toEqual([])
  }, 300_000)

  it('prints what it did, what it refuses, and how to use it', async () => {
    const list = await keys('list')
    expect(list.stdout).toMatch(/^KID +ALG +STATE\n/)
    expect(list.stdout).toContain('retired since')
    const signing = (await listed()).find(({ state }) => state === 'signing')?.kid ?? ''
    expect(await keys('retire', signing, '--force')).toEqual({
      code: 1,
      stdout: '',
      stderr: `${signing} signs. Rotate first, so that another key does.\n`,
    })
    expect((await keys('rotate', '--now')).stdout).toMatch(
      /^[\w-]{43} \(RS256\) is published and signs from now on\./,
    )
    const usage = expect.stringContaining('Usage:') as unknown
    expect(await keysProcess('shred')).toEqual({ code: 2, stdout: '', stderr: usage })
  }, 300_000)
})
