import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { holdsInSomeRun } from '@signet/testkit'
import { anEmail, aUser, PASSWORD, post, type ApiAnswer, type Json } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** An answer with each value that differs by its nature replaced by what it is; an address by the word. */
const shapeOf = ({ status, text, headers }: ApiAnswer, email: string) => ({
  status,
  retryAfter: headers.get('retry-after'),
  body: JSON.parse(text.replaceAll(email, 'the address'), (_key, value: unknown) => {
    if (typeof value !== 'string') return value
    return UUID.test(value) ? 'an id' : ISO.test(value) ? 'a time' : value
  }) as unknown,
})

/** One address of each state that a stranger would like to know. */
async function addresses(server: TestServer): Promise<Record<'unknown' | 'unproven' | 'proved', string>> {
  const unproven = anEmail()
  await post(server, '/signup', { email: unproven, password: 'the password of somebody else' })
  const { email: proved } = await aUser(server)
  server.clock.advance(900_000)
  return { unknown: anEmail(), unproven, proved }
}

describe('what strangers learn from answers', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  const requests: [path: string, body: Json, seconds: number][] = [
    ['/signup', { password: PASSWORD, data: { name: 'Ann' } }, 890],
    ['/recover', {}, 890],
    ['/magiclink', {}, 50],
    ['/otp', {}, 50],
    ['/otp', { create_user: true }, 50],
    ['/resend', { type: 'signup' }, 890],
    ['/resend', { type: 'email_change' }, 50],
  ]
  it.each(requests)(
    '%s %j: the same for every address, the first, second and nth time',
    async (path, body, seconds) => {
      const kinds = await addresses(server)
      const seen: unknown[] = []
      for (const email of Object.values(kinds)) {
        const ask = async () => shapeOf(await post(server, path, { ...body, email }), email)
        const first = await ask()
        server.clock.advance(10_000)
        const second = await ask()
        const third = await ask()
        server.clock.advance(900_000)
        const later = await ask()
        expect([first.status, second.status, third.status, later.status]).toEqual([200, 429, 429, 200])
        expect([second.retryAfter, third.retryAfter]).toEqual([String(seconds), String(seconds)])
        seen.push({ first, second, third, later })
      }
      expect(seen[1]).toEqual(seen[0])
      expect(seen[2]).toEqual(seen[0])
    },
  )

  it('/signup returns the same id each time, which no user has', async () => {
    for (const email of Object.values(await addresses(server))) {
      const ask = async () => (await post(server, '/signup', { email, password: PASSWORD })).body['id']
      const first = await ask()
      server.clock.advance(900_000)
      expect(await ask()).toBe(first)
      const { rows } = await server.context.db.query<{ proved: boolean }>(
        'select confirmed_at is not null as proved from users where id = $1',
        [first],
      )
      expect(rows.filter(({ proved }) => proved)).toEqual([])
    }
  })

  it('a sign-up with the address of an account only sends an email to its owner', async () => {
    const user = await aUser(server)
    server.clock.advance(900_000)
    const rowsOf = async () => {
      const { rows } = await server.context.db.query<{ count: number }>(
        `select (select count(*) from users)::int + (select count(*) from identities)::int
           + (select count(*) from one_time_tokens)::int + (select count(*) from outbox)::int as count`,
      )
      return rows[0]?.count
    }
    const before = await rowsOf()
    await post(server, '/signup', { email: user.email, password: 'the password of a stranger' })
    expect(await rowsOf()).toBe(before)
    const mail = await server.inbox.waitForMail({ to: user.email, subject: 'You already have an account' })
    expect(mail.links.length).toBeGreaterThanOrEqual(2)
    expect(mail.links.filter((link) => link.includes('token='))).toEqual([])
    expect((await post(server, '/token?grant_type=password', { ...user, email: user.email })).status).toBe(
      200,
    )
  })

  it('the email to the owner can be switched off', async () => {
    const quiet = await startServer({ AUTH_MAILER_NOTIFICATIONS_ACCOUNT_EXISTS_ENABLED: 'false' })
    try {
      const { email } = await aUser(quiet)
      quiet.clock.advance(900_000)
      expect((await post(quiet, '/signup', { email, password: PASSWORD })).status).toBe(200)
      expect(quiet.inbox.messages({ to: email })).toHaveLength(1)
    } finally {
      await quiet.close()
    }
  })
})

/** How much longer the slowest of them takes; some statements more or less make it about two. */
const spread = (times: readonly number[]): number => Math.max(...times) / Math.min(...times)
const MOST = 1.5

describe('what strangers learn from time', () => {
  let server: TestServer
  beforeAll(async () => {
    // The cheapest hashes of the tests: the cost of real ones would hide the rest.
    server = await startServer({
      AUTH_SMTP_MAX_FREQUENCY: '0',
      AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
      AUTH_RATE_LIMIT_OTP: '1000000',
    })
  })
  afterEach(() => server.inbox.fail(null))
  afterAll(() => server.close())

  const ROUNDS = 13
  /** Next to other tests, some runs fail by chance. A broken rule fails every run. */
  const RUNS = 8
  /** For measurements that are repeated on a busy machine. */
  const PATIENCE_MS = 240_000

  type Shortest = Record<string, number>

  /**
   * Shortens the times for addresses in each state to the shortest measured: nothing that a busy machine does makes one
   * shorter. Taken in turns, so that a busy machine slows all of them alike.
   */
  async function measure(
    shortest: Shortest,
    path: string,
    body: Json,
    others: Record<string, string>,
    { settle }: { settle: boolean },
  ): Promise<number[]> {
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [kind, email] of Object.entries({ ...others, unknown: anEmail() })) {
        const startedAt = performance.now()
        const { status } = await post(server, path, { ...body, email }, { settle: false })
        shortest[kind] = Math.min(shortest[kind] ?? Infinity, performance.now() - startedAt)
        expect(status).toBe(200)
        // What happens after the answer must not slow down the next one.
        if (settle) await server.settled()
      }
    return Object.values(shortest)
  }

  it.each([
    ['/signup', { password: PASSWORD }],
    ['/recover', {}],
    ['/magiclink', {}],
    ['/otp', {}],
    ['/resend', { type: 'signup' }],
  ])(
    '%s takes the same for every address',
    async (path, body) => {
      const kinds = await addresses(server)
      const shortest: Shortest = {}
      await holdsInSomeRun(async () => {
        expect(spread(await measure(shortest, path, body, kinds, { settle: true }))).toBeLessThan(MOST)
      }, RUNS)
    },
    PATIENCE_MS,
  )

  it.each([
    ['takes 1.5 s for each email', { at: 'slow', ms: 1500 }],
    ['hangs', { at: 'hang' }],
    ['is down', { at: 'recipient', code: 421 }],
  ] as const)(
    '/signup and /recover do so while the mail server %s',
    async (_how, fault) => {
      const kinds = await addresses(server)
      server.inbox.fail(fault)
      for (const [path, body] of [
        ['/signup', { password: PASSWORD }],
        ['/recover', {}],
      ] as const) {
        const shortest: Shortest = {}
        await holdsInSomeRun(async () => {
          expect(spread(await measure(shortest, path, body, kinds, { settle: false }))).toBeLessThan(MOST)
        }, RUNS)
      }
    },
    PATIENCE_MS,
  )
})
