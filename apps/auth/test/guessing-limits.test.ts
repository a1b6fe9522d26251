import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { createPasswordHasher, type PasswordHasher } from '../src/passwords/password-hasher.js'
import { anEmail, aUser, expectError, mailTo, PASSWORD, post, type ApiAnswer } from './support/api.js'
import { FACTOR_ENVIRONMENT, factorSteps } from './support/factors.js'
import { DEFAULTS, FORWARDED, from, many, MINUTE_MS, statuses, tokenPath, tried } from './support/guessing.js'
import { startServer, type TestServer } from './support/server.js'

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
      // Refills the bucket for requests: these tests are about the limit on failures.
      server.clock.advance(1000)
    }
    return answers
  }

  it('gets 30 wrong passwords, then a slow trickle', async () => {
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
  ])('counts all spellings of one address as one: %s', async (_name, spellings) => {
    expect(tried(await spray((n) => spellings[n % spellings.length] ?? ''))).toBe(30)
  })

  it('does not lock out accounts that have signed in from that network', async () => {
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
  it('count the address of the socket, with a higher limit for private ones', async () => {
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
      // What a client says about its address changes nothing.
      const spoofed = await post(server, '/verify', {}, from('192.0.2.200'))
      expectError(spoofed, 429, 'over_request_rate_limit')
      // Each endpoint has a separate bucket, so the people behind the address can still sign in.
      await aUser(server)
      expect(
        server.lines.filter(({ msg }) => msg.includes('AUTH_SECURITY_FORWARDED_FOR_ENABLED')),
      ).toHaveLength(1)
    } finally {
      await server.close()
    }
  })
})

describe('a flood of sign-ins whose clients hang up', () => {
  it('leaves the hashing threads to clients that wait', async () => {
    let jobs = 0
    const observe = (_: string, phase: 'submitted' | 'completed') =>
      void (jobs += phase === 'submitted' ? 1 : -1)
    const hasher = createPasswordHasher({ cost: 10, threads: 1, maxQueue: 40, observe })
    let hashed = 0
    const firstMatch: PasswordHasher['firstMatch'] = async (...job) => {
      const index = await hasher.firstMatch(...job)
      hashed += 1
      return index
    }
    const server = await startServer(DEFAULTS, { hasher: { ...hasher, firstMatch } })
    try {
      const user = await aUser(server)
      const given = new AbortController()
      const answers: number[] = []
      const flood: Promise<unknown>[] = []
      const attempt = () =>
        void flood.push(
          fetch(`${server.url}${tokenPath}`, {
            method: 'POST',
            body: JSON.stringify({ email: anEmail(), password: 'wrong password' }),
            signal: given.signal,
          }).then(
            ({ status }) => answers.push(status),
            () => undefined,
          ),
        )
      for (let n = 0; n < 41; n++) attempt()
      // The first attempts may be done before the last ones arrive.
      await waitFor(() => {
        attempt()
        return answers.includes(503)
      })
      const before = hashed
      given.abort()
      await Promise.all(flood)
      await waitFor(() => jobs <= 2)
      // Of the forty, the thread hashes those that it has begun, and perhaps a few more until the service notices.
      expect(hashed - before).toBeLessThan(20)
      expect((await post(server, tokenPath, { email: user.email, password: PASSWORD })).status).toBe(200)
    } finally {
      await server.close()
      await hasher.close()
    }
  })
})

describe('a flood of wrong passwords from many networks', () => {
  it('keeps nobody out who signs in from a network that the account knows', async () => {
    const maxQueue = 10
    const hasher = createPasswordHasher({ cost: 8, threads: 1, maxQueue })
    let waiting = 0
    let ended = 0
    const waitingBefore: number[] = []
    const endedBeside: number[] = []
    const known = new Set<string>()
    const firstMatch: PasswordHasher['firstMatch'] = async (hashes, password, caller) => {
      const [waitingNow, endedNow] = [waiting, ended]
      if (caller.isKnown) known.add(password)
      waiting += 1
      try {
        const index = await hasher.firstMatch(hashes, password, caller)
        if (password === PASSWORD) {
          waitingBefore.push(waitingNow)
          endedBeside.push(ended - endedNow)
        } else ended += 1
        return index
      } finally {
        waiting -= 1
      }
    }
    const server = await startServer(FORWARDED, { hasher: { ...hasher, firstMatch } })
    let isOver = false
    const answered: number[] = []
    const attack = async (n: number, email?: string) => {
      while (!isOver) {
        const wrong = { email: email ?? anEmail(), password: 'wrong password' }
        const { status } = await post(server, tokenPath, wrong, from(`2001:db8:66:${n.toString(16)}::1`))
        answered.push(status)
      }
    }
    const attacks: Promise<void>[] = []
    try {
      const [{ email }, other] = [await aUser(server), await aUser(server)]
      const home = from('192.0.2.66')
      const signIn = () => post(server, tokenPath, { email, password: PASSWORD }, home)
      expect((await signIn()).status).toBe(200)
      waitingBefore.length = endedBeside.length = 0
      attacks.push(attack(0, email), ...Array.from({ length: 30 }, (_, n) => attack(n + 1)))
      await waitFor(() => answered.includes(503))
      for (let n = 0; n < 5; n++) expect((await signIn()).status).toBe(200)
      expect(Math.max(...waitingBefore)).toBeGreaterThan(maxQueue / 2)
      // The thread already holds two jobs, and one more may get a turn in between. Each of the three may be the last job of a wrong
      // password.
      expect(Math.max(...endedBeside)).toBeLessThanOrEqual(3)
      // Strangers who name the account do not go first either.
      expect([...known]).toEqual([PASSWORD])
      // All networks of the flood belong to a wider one, so other strangers still get turns.
      const elsewhere = from('198.51.100.7')
      const signUp = { email: anEmail(), password: PASSWORD }
      expect((await post(server, '/signup', signUp, elsewhere)).status).toBe(200)
      const stranger = { email: other.email, password: PASSWORD }
      expect((await post(server, tokenPath, stranger, elsewhere)).status).toBe(200)
    } finally {
      isOver = true
      await Promise.all(attacks)
      await server.close()
      await hasher.close()
    }
  })
})

describe('a flood of right passwords from networks inside one', () => {
  it('keeps nobody out who signs in from elsewhere', async () => {
    const hasher = createPasswordHasher({ cost: 8, threads: 1, maxQueue: 4 })
    const server = await startServer({ ...FORWARDED, AUTH_RATE_LIMIT_TOKEN_REFRESH: '100000' }, { hasher })
    const signIn = (email: string, address: string) =>
      post(server, tokenPath, { email, password: PASSWORD }, from(address))
    let isOver = false
    const answered: number[] = []
    const attack = async (email: string, address: string) => {
      while (!isOver) answered.push((await signIn(email, address)).status)
    }
    const attacks: Promise<void>[] = []
    try {
      const owner = await aUser(server)
      expect((await signIn(owner.email, '192.0.2.67')).status).toBe(200)
      const { email } = await aUser(server)
      const networks = Array.from({ length: 8 }, (_, n) => `2001:db8:${n}:1::1`)
      for (const address of networks) expect((await signIn(email, address)).status).toBe(200)
      for (const address of networks) attacks.push(attack(email, address))
      await waitFor(() => answered.includes(503))
      for (let n = 0; n < 5; n++) expect((await signIn(owner.email, '192.0.2.67')).status).toBe(200)
    } finally {
      isOver = true
      await Promise.all(attacks)
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

  it('gets four tries an hour in the long run, even in parallel and with new challenges and sessions', async () => {
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

  it('keeps nobody waiting for a request that looked at the clock later and arrived first', async () => {
    const user = await aUser(server)
    const factor = await enroll(user)
    await raise(user, factor)
    const session = { access_token: await signInFrom(user.email) }
    const challengeId = await challenge(session, factor.id)
    const wrong = () => verify(session, factor.id, { challenge_id: challengeId, code: '000000' })
    expectError(await wrong(), 422, 'mfa_verification_failed')
    server.clock.set(new Date(server.clock.now().getTime() - 1))
    expectError(await wrong(), 422, 'mfa_verification_failed')
    const right = { challenge_id: challengeId, code: codeOf(factor) }
    expect((await verify(session, factor.id, right)).status).toBe(200)
  })

  const signInFrom = async (email: string) => {
    const { body } = await post(server, tokenPath, { email, password: PASSWORD })
    return String(body['access_token'])
  }
})
