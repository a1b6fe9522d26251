import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aUser, expectError, mailTo, PASSWORD, post, put, type ApiAnswer } from './support/api.js'
import { waitFor } from '@signet/testkit'
import { createPasswordHasher } from '../src/passwords/password-hasher.js'
import { FACTOR_ENVIRONMENT, factorSteps } from './support/factors.js'
import { startServer, type TestServer } from './support/server.js'

/** What a deployment has that sets nothing: the other tests run with limits raised. */
const DEFAULTS = {
  AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '10',
  AUTH_SECURITY_SIGN_IN_ATTEMPTS: '5',
}
/** Addresses come from a header, so that one test can be many clients. */
const FORWARDED = { ...DEFAULTS, AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true' }
const MINUTE_MS = 60_000

const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
/** Another client each time; all of them are strangers to every account. */
let strangers = 0
const stranger = () => {
  strangers += 1
  return `198.51.${strangers >> 8}.${strangers & 255}`
}

/** At the same time, because that is how attackers do it, and because a busy machine has only so much time. */
const many = (count: number, request: (n: number) => Promise<ApiAnswer>) =>
  Promise.all(Array.from({ length: count }, (_, n) => request(n)))

const tokenPath = '/token?grant_type=password'
const statuses = (answers: readonly ApiAnswer[]) => answers.map(({ status }) => status)
const tried = (answers: readonly ApiAnswer[]) => statuses(answers).filter((status) => status === 400).length

describe('guessing the password of one account', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(FORWARDED)
  })
  afterAll(() => server.close())
  const guess = (email: string, address: string, password = 'wrong password') =>
    post(server, tokenPath, { email, password }, from(address))
  /** A user who signed up from one address and no other. */
  const aUserAt = async (address: string) => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD }, from(address))
    const { token } = await mailTo(server, email)
    expect((await post(server, '/verify', { type: 'signup', token }, from(address))).status).toBe(200)
    return email
  }
  const guesses = (email: string, count: number) => many(count, () => guess(email, stranger()))

  it('gets five tries out of 200, from as many addresses, and then has to wait ever longer', async () => {
    const email = await aUserAt('192.0.2.1')
    const answers = await guesses(email, 200)
    expect(tried(answers)).toBe(5)
    const refused = answers.filter(({ status }) => status !== 400)
    for (const answer of refused) expectError(answer, 429, 'over_request_rate_limit')
    const waits: number[] = []
    for (let round = 0; round < 14; round += 1) {
      const wait = Number((await guess(email, stranger())).headers.get('retry-after'))
      waits.push(wait)
      server.clock.advance(wait * 1000)
      expect((await guess(email, stranger())).status).toBe(400)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900])
  })

  it('is refused before anything is hashed', async () => {
    const email = await aUserAt('192.0.2.1')
    await guesses(email, 5)
    const hashed = async () =>
      (await server.context.registry.getSingleMetricAsString('auth_compare_hash_and_password_submitted'))
        .split('\n')
        .at(-1)
    const before = await hashed()
    expect(tried(await guesses(email, 20))).toBe(0)
    expect(await hashed()).toBe(before)
  })

  it('does not get further with many guesses at the same time', async () => {
    const email = await aUserAt('192.0.2.1')
    const answers = await Promise.all(Array.from({ length: 60 }, () => guess(email, stranger())))
    expect(tried(answers)).toBe(5)
    expect(statuses(answers).filter((status) => status === 429)).toHaveLength(55)
  })

  it('does not keep the owner out who comes from where the account signed in before', async () => {
    const email = await aUserAt('192.0.2.1')
    await guesses(email, 30)
    expectError(await guess(email, stranger(), PASSWORD), 429, 'over_request_rate_limit')
    expect((await guess(email, '192.0.2.1', PASSWORD)).status).toBe(200)
  })

  it('does not keep the owner out who proves the address elsewhere', async () => {
    const email = await aUserAt('192.0.2.1')
    await guesses(email, 30)
    expectError(await guess(email, '203.0.113.9', PASSWORD), 429, 'over_request_rate_limit')
    server.clock.advance(15 * MINUTE_MS)
    const { mail } = await mailTo(server, email)
    await guesses(email, 30)
    expect((await post(server, '/magiclink', { email }, from('203.0.113.9'))).status).toBe(200)
    const { token } = await mailTo(server, email, mail)
    const verified = await post(server, '/verify', { type: 'magiclink', token }, from('203.0.113.9'))
    expect(verified.status).toBe(200)
    expect((await guess(email, '203.0.113.9', PASSWORD)).status).toBe(200)
  })

  it('slows down at a known address, too, and there alone', async () => {
    const email = await aUserAt('192.0.2.1')
    const answers = await many(20, () => guess(email, '192.0.2.1'))
    expect(tried(answers)).toBe(5)
    expect((await guess(email, stranger(), PASSWORD)).status).toBe(200)
  })

  it('does not start anew whenever the owner signs in', async () => {
    const email = await aUserAt('192.0.2.1')
    await guesses(email, 30)
    expect((await guess(email, '192.0.2.1', PASSWORD)).status).toBe(200)
    expect(tried(await guesses(email, 30))).toBe(0)
  })

  it('never counts the right password', async () => {
    const email = await aUserAt('192.0.2.1')
    for (let n = 0; n < 8; n += 1) expect((await guess(email, stranger(), PASSWORD)).status).toBe(200)
    const together = await Promise.all(Array.from({ length: 5 }, () => guess(email, '192.0.2.1', PASSWORD)))
    expect(statuses(together)).toEqual([200, 200, 200, 200, 200])
  })

  it('is forgotten after hours without a guess', async () => {
    const email = await aUserAt('192.0.2.1')
    await guesses(email, 5)
    server.clock.advance(5 * 60 * MINUTE_MS)
    expect(tried(await guesses(email, 30))).toBe(5)
  })

  it('looks the same for an account that does not exist', async () => {
    const [known, unknown] = [await aUserAt('192.0.2.1'), anEmail()]
    const seen = (answers: readonly ApiAnswer[]) =>
      answers.map(({ status, text, headers }) => ({ status, text, wait: headers.get('retry-after') }))
    const inTurn = async (email: string) => {
      const answers: ApiAnswer[] = []
      for (let n = 0; n < 8; n += 1) answers.push(await guess(email, stranger()))
      return seen(answers)
    }
    expect(await inTurn(unknown)).toEqual(await inTurn(known))
  })

  it('counts one address, however it is written', async () => {
    const email = await aUserAt('192.0.2.1')
    const spellings = [email, email.toUpperCase(), email.replace('user', 'USER'), email.replace('com', 'COM')]
    const answers = await many(40, (n) => guess(spellings[n % 4] ?? '', stranger()))
    expect(tried(answers)).toBe(5)
  })

  it('counts a phone number like an address', async () => {
    const phones = await startServer({ ...FORWARDED, AUTH_EXTERNAL_PHONE_ENABLED: 'true' })
    try {
      const answers = await many(40, (n) => {
        const phone = n % 2 === 0 ? '+49 151 12345678' : '4915112345678'
        return post(phones, tokenPath, { phone, password: 'wrong password' }, from(stranger()))
      })
      expect(tried(answers)).toBe(5)
    } finally {
      await phones.close()
    }
  })

  it('goes no further by PUT /user, which compares a new password with the old one', async () => {
    const email = await aUserAt('192.0.2.1')
    const { body } = await guess(email, '192.0.2.1', PASSWORD)
    const options = (address: string) => ({ token: String(body['access_token']), ...from(address) })
    const answers = await many(20, () => put(server, '/user', { password: PASSWORD }, options(stranger())))
    expect(statuses(answers).sort()).toEqual([...Array<number>(5).fill(422), ...Array<number>(15).fill(429)])
  })

  it('is in the audit log with account and address, unknown accounts as well', async () => {
    const [known, unknown] = [await aUserAt('192.0.2.1'), anEmail()]
    for (const email of [known, unknown]) await guess(email, '198.51.100.77')
    const { rows } = await server.context.db.query<{
      name: string
      ip: string
      known: boolean
      reason: string
    }>(
      `select payload ->> 'actor_username' as name, ip_address as ip, payload -> 'traits' ->> 'reason' as reason,
         payload ->> 'actor_id' <> '00000000-0000-0000-0000-000000000000' as known
       from audit_log_entries where payload ->> 'action' = 'login_failed' and payload ->> 'actor_username' = any($1)
       order by created_at, known desc`,
      [[known, unknown]],
    )
    expect(rows).toEqual([
      { name: known, ip: '198.51.100.77', known: true, reason: 'wrong_password' },
      { name: unknown, ip: '198.51.100.77', known: false, reason: 'unknown_account' },
    ])
  })

  it('can be left to others: a longest wait of 0 switches it off', async () => {
    const open = await startServer({ ...FORWARDED, AUTH_SECURITY_SIGN_IN_MAX_DELAY: '0' })
    try {
      const email = anEmail()
      const answers = await many(20, () =>
        post(open, tokenPath, { email, password: 'wrong password' }, from(stranger())),
      )
      expect(tried(answers)).toBe(20)
    } finally {
      await open.close()
    }
  })
})

describe('guessing at many accounts from one network', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({ ...FORWARDED, AUTH_RATE_LIMIT_TOKEN_REFRESH: '100000' })
  })
  afterAll(() => server.close())
  const spray = async (addressOf: (n: number) => string) => {
    const answers: ApiAnswer[] = []
    for (const first of [0, 30]) {
      const request = (n: number) =>
        post(server, tokenPath, { email: anEmail(), password: 'password1' }, from(addressOf(first + n)))
      answers.push(...(await many(30, request)))
      // What is limited here are failures, not requests: the bucket of those is full again.
      server.clock.advance(1000)
    }
    return answers
  }

  it('gets 30 wrong passwords, and a slow trickle after that', async () => {
    expect(tried(await spray(() => '192.0.2.30'))).toBe(30)
    server.clock.advance(MINUTE_MS)
    expect(tried(await spray(() => '192.0.2.30'))).toBe(6)
  })

  it('counts IPv6 by /64', async () => {
    expect(tried(await spray((n) => `2001:db8:64:1::${n.toString(16)}`))).toBe(30)
    expect(tried(await spray((n) => `2001:db8:64:2::${n.toString(16)}`))).toBe(30)
  })

  it.each([
    [
      'IPv4, also mapped into IPv6',
      ['192.0.2.31', '::ffff:192.0.2.31', '::FFFF:c000:21f', '0:0:0:0:0:ffff:c000:021f'],
    ],
    ['IPv6', ['2001:db8:65::1', '2001:0DB8:0065:0:0:0:0:1', '2001:db8:65:0::192.0.2.1']],
  ])('counts one %s address, however it is written', async (_name, spellings) => {
    expect(tried(await spray((n) => spellings[n % spellings.length] ?? ''))).toBe(30)
  })

  it('does not keep out the people of that network', async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD }, from('192.0.2.32'))
    const { token } = await mailTo(server, email)
    await post(server, '/verify', { type: 'signup', token }, from('192.0.2.32'))
    await spray(() => '192.0.2.32')
    const signIn = await post(server, tokenPath, { email, password: PASSWORD }, from('192.0.2.32'))
    expect(signIn.status).toBe(200)
  })
})

describe('limits by client without any header', () => {
  it('count the address of the socket, and allow more to a private one', async () => {
    const server = await startServer({
      ...DEFAULTS,
      AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '2',
      AUTH_MAILER_AUTOCONFIRM: 'true',
    })
    try {
      const answers = await many(70, () =>
        post(server, '/verify', { type: 'signup', token: 'x', email: anEmail() }),
      )
      expect(statuses(answers).filter((status) => status !== 429)).toHaveLength(60)
      // What a client says about itself changes nothing.
      const spoofed = await post(server, '/verify', {}, from('192.0.2.200'))
      expectError(spoofed, 429, 'over_request_rate_limit')
      // Each endpoint has a bucket of its own, so the people behind the address can still sign in.
      await aUser(server)
      expect(
        server.lines.filter(({ msg }) => msg.includes('AUTH_SECURITY_FORWARDED_FOR_ENABLED')),
      ).toHaveLength(1)
    } finally {
      await server.close()
    }
  })
})

describe('a flood of sign-ins whose clients do not wait', () => {
  it('leaves the hashing threads to those who do', async () => {
    let jobs = 0
    const observe = (_: string, phase: 'submitted' | 'completed') =>
      void (jobs += phase === 'submitted' ? 1 : -1)
    const hasher = createPasswordHasher({ cost: 12, threads: 1, maxQueue: 40, observe })
    const server = await startServer(DEFAULTS, { hasher })
    try {
      const user = await aUser(server)
      const given = new AbortController()
      const flood = Array.from({ length: 41 }, () =>
        fetch(`${server.url}${tokenPath}`, {
          method: 'POST',
          body: JSON.stringify({ email: anEmail(), password: 'wrong password' }),
          signal: given.signal,
        }).catch(() => undefined),
      )
      await waitFor(() => jobs === 41)
      const busy = await post(server, tokenPath, { email: user.email, password: PASSWORD })
      expectError(busy, 503, 'over_capacity')
      given.abort()
      await Promise.all(flood)
      await waitFor(() => jobs <= 2)
      expect((await post(server, tokenPath, { email: user.email, password: PASSWORD })).status).toBe(200)
    } finally {
      await server.close()
      await hasher.close()
    }
  })
})

describe('guessing the code of a second factor', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      ...FACTOR_ENVIRONMENT,
      ...FORWARDED,
      AUTH_JWT_EXP: '864000',
      AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '100000',
    })
  })
  afterAll(() => server.close())
  const { enroll, challenge, verify, raise, codeOf } = factorSteps(() => server)

  it('gets four tries an hour in the long run, with new challenges, new sessions and at the same time', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    await raise(user, factor)
    const thief = { access_token: await signInFrom(user.email) }
    let tries = 0
    const guess = async () => {
      const challengeId = await challenge(thief, factor.id)
      const answers = await Promise.all(
        Array.from({ length: 2 }, () =>
          verify(thief, factor.id, { challenge_id: challengeId, code: '000000' }),
        ),
      )
      tries += statuses(answers).filter((status) => status === 422).length
      return Number(answers.find(({ status }) => status === 429)?.headers.get('retry-after') ?? 0)
    }
    const end = server.clock.now().getTime() + 120 * MINUTE_MS
    while (server.clock.now().getTime() < end) server.clock.advance((await guess()) * 1000 || 1)
    expect(tries).toBeGreaterThan(15)
    expect(tries).toBeLessThan(25)
    await guess()
    const refused = await verify(thief, factor.id, {
      challenge_id: await challenge(thief, factor.id),
      code: codeOf(factor),
    })
    expectError(refused, 429, 'over_request_rate_limit')
    server.clock.advance(15 * MINUTE_MS)
    await raise(user, factor)
  })

  const signInFrom = async (email: string) => {
    const { body } = await post(server, tokenPath, { email, password: PASSWORD })
    return String(body['access_token'])
  }
})
