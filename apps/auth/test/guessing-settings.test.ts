import { describe, expect, it } from '@jest/globals'
import type { PasswordHasher } from '../src/passwords/password-hasher.js'
import { readConfig } from '../src/config/read-config.js'
import { anEmail, mailTo, PASSWORD, post } from './support/api.js'
import { FORWARDED, from, many, MINUTE_MS, statuses, tokenPath } from './support/guessing.js'
import { NO_MAIL_SERVER, requiredEnv } from './support/process.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'

const [HOME, STRANGER] = ['192.0.2.1', '198.51.100.1']

const signIn = (server: TestServer, email: string, password: string, network: string) =>
  post(server, tokenPath, { email, password }, from(network))
const signUp = (server: TestServer, email: string, network: string) =>
  post(server, '/signup', { email, password: PASSWORD }, from(network))

async function aUserAt(server: TestServer, network: string): Promise<string> {
  const email = anEmail()
  await signUp(server, email, network)
  const { token } = await mailTo(server, email)
  expect((await post(server, '/verify', { type: 'signup', token }, from(network))).status).toBe(200)
  return email
}

/** Guesses until the server refuses a guess, but at most `most` times. Returns the number of guesses before that. */
async function guesses(server: TestServer, email: string, most: number): Promise<number> {
  for (let made = 0; made < most; made += 1)
    if ((await signIn(server, email, 'wrong password', STRANGER)).status === 429) return made
  return most
}

async function waits(server: TestServer): Promise<number[]> {
  const email = anEmail()
  await guesses(server, email, 5)
  const seen: number[] = []
  for (let n = 0; n < 3; n += 1) {
    const refused = await signIn(server, email, 'wrong password', STRANGER)
    const seconds = Number(refused.headers.get('retry-after'))
    seen.push(seconds)
    server.clock.advance(seconds * 1000)
    await signIn(server, email, 'wrong password', STRANGER)
  }
  return seen
}

async function guessesAfterTenMinutes(server: TestServer): Promise<number> {
  const email = anEmail()
  await guesses(server, email, 5)
  server.clock.advance(10 * MINUTE_MS)
  return guesses(server, email, 10)
}

/** Signs in at four networks; then strangers guess, and the four try again. */
async function answersInKnownNetworks(server: TestServer): Promise<number[]> {
  const networks = [1, 2, 3, 4].map((n) => `203.0.113.${n}`)
  const email = await aUserAt(server, networks[0] ?? '')
  for (const network of networks) {
    server.clock.advance(1000)
    expect((await signIn(server, email, PASSWORD, network)).status).toBe(200)
  }
  await guesses(server, email, 6)
  const answers: number[] = []
  for (const network of networks) answers.push((await signIn(server, email, PASSWORD, network)).status)
  return answers
}

const tryCode = (server: TestServer, email: string, token: string, network: string) =>
  post(server, '/verify', { type: 'signup', email, token }, from(network))
const guessCodes = async (server: TestServer, email: string, count: number, network: string) => {
  for (let n = 0; n < count; n += 1) await tryCode(server, email, '000000', network)
}
const codeTo = async (server: TestServer, email: string) => String((await mailTo(server, email)).code)

/** Strangers guess, then the person who signed up guesses once and types the right code. */
async function answerToRequester(server: TestServer): Promise<number> {
  const email = anEmail()
  await signUp(server, email, HOME)
  const code = await codeTo(server, email)
  await guessCodes(server, email, 10, STRANGER)
  await guessCodes(server, email, 1, HOME)
  return (await tryCode(server, email, code, HOME)).status
}

/** Another network requests a code before the one that signs up; then strangers guess. */
async function answerToSecondRequester(server: TestServer): Promise<number> {
  const email = anEmail()
  await post(server, '/recover', { email }, from('203.0.113.9'))
  await signUp(server, email, HOME)
  const code = await codeTo(server, email)
  await guessCodes(server, email, 10, STRANGER)
  return (await tryCode(server, email, code, HOME)).status
}

async function keptSignUps(server: TestServer): Promise<number> {
  const email = anEmail()
  for (let n = 1; n <= 4; n += 1) expect((await signUp(server, email, `203.0.113.${n}`)).status).toBe(200)
  const { rows } = await server.context.db.query(
    'select 1 from pending_sign_ups p join users u on u.id = p.user_id where u.email = $1',
    [email],
  )
  return rows.length
}

const anyAreRefusedAsTooMany = async (server: TestServer): Promise<boolean> => {
  const wrong = (n: number) => signIn(server, anEmail(), 'wrong password', `203.0.113.${n}`)
  return statuses(await many(30, wrong)).includes(503)
}

const verifications = async (server: TestServer): Promise<number> => {
  const request = () => post(server, '/verify', { type: 'signup', token: 'x' }, from(HOME))
  return statuses(await many(35, request)).filter((status) => status !== 429).length
}

type Observation = [
  settings: Record<string, string>,
  observe: (server: TestServer) => Promise<unknown>,
  byDefault: unknown,
  changed: unknown,
]
const OBSERVATIONS: Observation[] = [
  [{ AUTH_RATE_LIMIT_BURST: '2' }, verifications, 30, 2],
  [{ AUTH_SECURITY_SIGN_IN_FIRST_DELAY: '10s' }, waits, [1, 2, 4], [10, 20, 40]],
  [
    { AUTH_SECURITY_SIGN_IN_FAILURE_EXP: '1m', AUTH_SECURITY_SIGN_IN_MAX_DELAY: '1m' },
    guessesAfterTenMinutes,
    1,
    5,
  ],
  [{ AUTH_SECURITY_KNOWN_NETWORKS: '2' }, answersInKnownNetworks, [200, 200, 200, 200], [429, 429, 200, 200]],
  [{ AUTH_SECURITY_CODE_REQUESTER_ATTEMPTS: '1' }, answerToRequester, 200, 403],
  [{ AUTH_SECURITY_CODE_REQUESTERS: '1' }, answerToSecondRequester, 200, 403],
  [{ AUTH_SECURITY_PENDING_SIGN_UPS: '2' }, keptSignUps, 4, 2],
  [{ AUTH_SECURITY_PASSWORD_QUEUE: '2' }, anyAreRefusedAsTooMany, false, true],
]

describe('the numbers of the defenses against guessing', () => {
  it.each(OBSERVATIONS)('change what the service does: %j', async (settings, observe, byDefault, changed) => {
    // The shared hasher of the tests has the default queue. Only tests of the queue start their own hasher, because its real hashes are
    // slow.
    const own =
      'AUTH_SECURITY_PASSWORD_QUEUE' in settings ? { hasher: undefined as unknown as PasswordHasher } : {}
    const servers = await Promise.all(
      [{}, settings].map((more) => startServer({ ...FORWARDED, ...NO_EMAIL_GAPS, ...more }, own)),
    )
    try {
      const seen: unknown[] = []
      for (const server of servers) seen.push(await observe(server))
      expect(seen).toEqual([byDefault, changed])
    } finally {
      await Promise.all(servers.map((server) => server.close()))
    }
  })

  it.each([
    [
      { AUTH_SECURITY_SIGN_IN_MAX_DELAY: '15m', AUTH_SECURITY_SIGN_IN_FAILURE_EXP: '10m' },
      /AUTH_SECURITY_SIGN_IN_MAX_DELAY must not be longer than AUTH_SECURITY_SIGN_IN_FAILURE_EXP/,
    ],
    [
      { AUTH_SECURITY_SIGN_IN_FIRST_DELAY: '16m' },
      /AUTH_SECURITY_SIGN_IN_FIRST_DELAY must not be longer than AUTH_SECURITY_SIGN_IN_MAX_DELAY/,
    ],
  ])('that contradict each other stop the start: %j', (settings, problem) => {
    const env = { ...requiredEnv('postgres://127.0.0.1/auth'), ...NO_MAIL_SERVER }
    expect(() => readConfig({ ...env, ...settings })).toThrow(problem)
  })
})

describe('sixty people who sign up from one address', () => {
  const accepted = async (settings: Record<string, string>) => {
    const server = await startServer({
      AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true',
      AUTH_RATE_LIMIT_EMAIL_SENT: '30',
      ...settings,
    })
    try {
      const addresses = Array.from({ length: 60 }, anEmail)
      const answers = await many(60, (n) => signUp(server, addresses[n] ?? '', HOME))
      await server.settled()
      const confirmed = addresses.filter((to) => server.inbox.messages({ to }).length > 0)
      return [statuses(answers).filter((status) => status === 200).length, confirmed.length]
    } finally {
      await server.close()
    }
  }

  it('get through where the limits are raised', async () => {
    const raised = { AUTH_RATE_LIMIT_BURST: '60', AUTH_RATE_LIMIT_EMAIL_SENT: '120' }
    expect(await accepted(raised)).toEqual([60, 60])
  })

  it('do not by default', async () => {
    expect(await accepted({})).toEqual([15, 15])
  })
})
