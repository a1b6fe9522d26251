import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { anEmail, expectError, mailTo, PASSWORD, post, put, type ApiAnswer } from './support/api.js'
import { FORWARDED, from, many, MINUTE_MS, statuses, tokenPath, tried } from './support/guessing.js'
import { startServer, type TestServer } from './support/server.js'

/** A new client each time, unknown to every account. */
let strangers = 0
const stranger = () => {
  strangers += 1
  return `198.51.${strangers >> 8}.${strangers & 255}`
}

/** Returns how long each refusal says to wait. Once that time is over, tries another wrong password. */
async function waitsOf(server: TestServer, email: string, rounds: number): Promise<number[]> {
  const guess = () => post(server, tokenPath, { email, password: 'wrong password' }, from(stranger()))
  const waits: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const wait = Number((await guess()).headers.get('retry-after'))
    waits.push(wait)
    server.clock.advance(wait * 1000)
    expect((await guess()).status).toBe(400)
  }
  return waits
}

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

  it('gets 5 of 200 tries from 200 addresses, then ever longer waits', async () => {
    const email = await aUserAt('192.0.2.1')
    const answers = await guesses(email, 200)
    expect(tried(answers)).toBe(5)
    const refused = answers.filter(({ status }) => status !== 400)
    for (const answer of refused) expectError(answer, 429, 'over_request_rate_limit')
    const waits = await waitsOf(server, email, 14)
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

  it('gains nothing from parallel guesses', async () => {
    const email = await aUserAt('192.0.2.1')
    const answers = await Promise.all(Array.from({ length: 60 }, () => guess(email, stranger())))
    expect(tried(answers)).toBe(5)
    expect(statuses(answers).filter((status) => status === 429)).toHaveLength(55)
  })

  it('does not lock out the owner at a network where the account has signed in before', async () => {
    const email = await aUserAt('192.0.2.1')
    await guesses(email, 30)
    expectError(await guess(email, stranger(), PASSWORD), 429, 'over_request_rate_limit')
    expect((await guess(email, '192.0.2.1', PASSWORD)).status).toBe(200)
  })

  it('does not lock out an owner who proves the address from a new network', async () => {
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

  it('is slowed down at a known network too, and only there', async () => {
    const email = await aUserAt('192.0.2.1')
    const answers = await many(20, () => guess(email, '192.0.2.1'))
    expect(tried(answers)).toBe(5)
    expect((await guess(email, stranger(), PASSWORD)).status).toBe(200)
  })

  it('is not reset when the owner signs in', async () => {
    const email = await aUserAt('192.0.2.1')
    await guesses(email, 30)
    expect((await guess(email, '192.0.2.1', PASSWORD)).status).toBe(200)
    expect(tried(await guesses(email, 30))).toBe(0)
  })

  it('never counts the correct password', async () => {
    const email = await aUserAt('192.0.2.1')
    for (let n = 0; n < 8; n += 1) expect((await guess(email, stranger(), PASSWORD)).status).toBe(200)
    const together = await Promise.all(Array.from({ length: 5 }, () => guess(email, '192.0.2.1', PASSWORD)))
    expect(statuses(together)).toEqual([200, 200, 200, 200, 200])
  })

  it('keeps nobody waiting for a request that looked at the clock later and arrived first', async () => {
    const email = await aUserAt('192.0.2.1')
    for (const address of ['192.0.2.1', stranger()]) {
      expect((await guess(email, address, PASSWORD)).status).toBe(200)
      server.clock.set(new Date(server.clock.now().getTime() - 1))
      expect((await guess(email, address, PASSWORD)).status).toBe(200)
    }
  })

  it('counts once, in whatever order requests looked at the clock', async () => {
    const email = await aUserAt('192.0.2.1')
    const latest = server.clock.now()
    const answers: ApiAnswer[] = []
    for (const msAgo of [3, 0, 5, 1, 4]) {
      server.clock.set(new Date(latest.getTime() - msAgo))
      answers.push(await guess(email, stranger()))
    }
    expect(tried(answers)).toBe(5)
    // The wait counts from the attempt with the latest time, not from the one that arrived last.
    server.clock.set(new Date(latest.getTime() + 999))
    expectError(await guess(email, stranger()), 429, 'over_request_rate_limit')
    server.clock.advance(1)
    expect((await guess(email, stranger())).status).toBe(400)
  })

  it('is taken back, when right, by the statement that opens the session', async () => {
    const email = await aUserAt('192.0.2.1')
    const query = jest.spyOn(server.context.db, 'query')
    expect((await guess(email, '192.0.2.1', PASSWORD)).status).toBe(200)
    const names = query.mock.calls.map(([statement]) => (statement as { name?: string }).name)
    query.mockRestore()
    const ofSignIn = names.filter((name) => name?.startsWith('guess') || name === 'session_open')
    expect(ofSignIn).toEqual(['guess_begin_email', 'session_open'])
  })

  it('is forgotten after hours without a guess', async () => {
    const email = await aUserAt('192.0.2.1')
    await guesses(email, 5)
    server.clock.advance(5 * 60 * MINUTE_MS)
    expect(tried(await guesses(email, 30))).toBe(5)
  })

  it('is no cheaper with the password of a sign-up, whether or not there is an account', async () => {
    const seen: unknown[] = []
    for (const email of [await aUserAt('192.0.2.1'), anEmail()]) {
      const answers: ApiAnswer[] = []
      for (let n = 0; n < 8; n += 1) {
        const [password, network] = [`the guess of number ${n}`, stranger()]
        await post(server, '/signup', { email, password }, from(network))
        answers.push(await guess(email, network, password))
      }
      seen.push(answers.map(({ status, text }) => [status, text]))
      expect(tried(answers)).toBe(5)
    }
    expect(seen[0]).toEqual(seen[1])
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

  it('counts all spellings of an email address as one', async () => {
    const email = await aUserAt('192.0.2.1')
    const spellings = [email, email.toUpperCase(), email.replace('user', 'USER'), email.replace('com', 'COM')]
    const answers = await many(40, (n) => guess(spellings[n % 4] ?? '', stranger()))
    expect(tried(answers)).toBe(5)
  })

  it('counts all spellings of a phone number as one', async () => {
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

  it('is limited on PUT /user too, which compares the new password with the old one', async () => {
    const email = await aUserAt('192.0.2.1')
    const { body } = await guess(email, '192.0.2.1', PASSWORD)
    const options = (address: string) => ({ token: String(body['access_token']), ...from(address) })
    const answers = await many(20, () => put(server, '/user', { password: PASSWORD }, options(stranger())))
    expect(statuses(answers).sort()).toEqual([...Array<number>(5).fill(422), ...Array<number>(15).fill(429)])
  })

  it('is in the audit log with account and address, also for unknown accounts', async () => {
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

  it.each([
    ['1h', 3600],
    ['50m', 3000],
  ])('keeps nobody waiting for longer than an hour: %s at most is %s seconds', async (setting, longest) => {
    const slow = await startServer({ ...FORWARDED, AUTH_SECURITY_SIGN_IN_MAX_DELAY: setting })
    try {
      const email = anEmail()
      await many(5, () => post(slow, tokenPath, { email, password: 'wrong password' }, from(stranger())))
      const waits = await waitsOf(slow, email, 15)
      expect(waits.slice(10)).toEqual([1024, 2048, longest, longest, longest])
    } finally {
      await slow.close()
    }
  })

  it('is not slowed down where the longest wait is 0', async () => {
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
