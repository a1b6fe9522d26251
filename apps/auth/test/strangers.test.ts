import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { holdsInSomeRun } from '@signet/testkit'
import { anEmail, aPhone, aUser, PASSWORD, post, put, type ApiAnswer, type Json } from './support/api.js'
import { RecordedWork } from './support/recorded-work.js'
import { startServer, type TestServer } from './support/server.js'
import { startSmsServer, type SmsGateway } from './support/sms-gateway.js'
import { serviceToken } from './support/tokens.js'

const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** An answer with each value that differs by its nature replaced by what it is; an address by the word, ids by their order. */
function shapeOf({ status, text, headers }: ApiAnswer, address: string) {
  const ids: string[] = []
  const nameOf = (id: string) => `id ${ids.includes(id) ? ids.indexOf(id) : ids.push(id) - 1}`
  return {
    status,
    retryAfter: headers.get('retry-after'),
    headers: [...headers.keys()].sort(),
    body: JSON.parse(text.replaceAll(address, 'the address'), (_key, value: unknown) => {
      if (typeof value !== 'string') return value
      return UUID.test(value) ? nameOf(value) : ISO.test(value) ? 'a time' : value
    }) as unknown,
  }
}

/** What comes back for a request about an address: the first, second, third time, and once the interval is over. */
async function answersOf(
  server: TestServer,
  address: string,
  ask: () => Promise<ApiAnswer>,
  seconds: number,
): Promise<unknown> {
  const asked = async () => shapeOf(await ask(), address)
  const first = await asked()
  server.clock.advance(10_000)
  const second = await asked()
  const third = await asked()
  server.clock.advance(900_000)
  const later = await asked()
  expect([first.status, second.status, third.status, later.status]).toEqual([200, 429, 429, 200])
  expect([second.retryAfter, third.retryAfter]).toEqual([String(seconds), String(seconds)])
  return { first, second, third, later }
}

/** One address of each state that a stranger would like to know. */
async function addresses(
  server: TestServer,
): Promise<Record<'unknown' | 'unproven' | 'proved' | 'claimed' | 'second', string>> {
  const [unproven, claimed, second] = [anEmail(), anEmail(), anEmail()]
  for (const email of [unproven, claimed])
    await post(server, '/signup', { email, password: 'the password of somebody else' })
  // What a provider leaves that does not vouch for the address.
  await server.context.db.query(
    `update identities set provider = 'github', provider_id = $1
     where user_id = (select id from users where email = $1)`,
    [claimed],
  )
  // The account of somebody who has proved a number.
  const owner = { phone: aPhone(), phone_confirm: true, email: second }
  expect((await post(server, '/admin/users', owner, { token: serviceToken() })).status).toBe(200)
  const { email: proved } = await aUser(server)
  server.clock.advance(900_000)
  return { unknown: anEmail(), unproven, proved, claimed, second }
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
        const ask = () => post(server, path, { ...body, email })
        seen.push(await answersOf(server, email, ask, seconds))
      }
      for (const answers of seen) expect(answers).toEqual(seen[0])
    },
  )

  it('/signup returns the same id each time, which nobody has who proved an address or a number', async () => {
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

describe('what strangers learn from answers about a phone number', () => {
  let server: TestServer
  let gateway: SmsGateway
  beforeAll(async () => {
    ;({ server, gateway } = await startSmsServer())
  })
  afterAll(() => server.close())

  /** A number of each state: unknown, signed up with, an account's, and one that waits to become an account's. */
  async function numbers(): Promise<string[]> {
    const [unknown, unproven, proved, pending] = [aPhone(), aPhone(), aPhone(), aPhone()]
    for (const phone of [unproven, proved]) await post(server, '/signup', { phone, password: PASSWORD })
    const proof = { type: 'sms', phone: proved, token: gateway.codeFor(proved) }
    expect((await post(server, '/verify', proof)).status).toBe(200)
    const { access_token: token } = await aUser(server)
    expect((await put(server, '/user', { phone: pending }, { token })).status).toBe(200)
    server.clock.advance(900_000)
    return [unknown, unproven, proved, pending]
  }

  const requests: [path: string, body: Json, versioned: boolean][] = [
    ['/signup', { password: PASSWORD, data: { name: 'Ann' } }, false],
    ['/otp', {}, false],
    ['/otp', {}, true],
    ['/otp', { create_user: true }, false],
    ['/resend', { type: 'sms' }, false],
    ['/resend', { type: 'phone_change' }, false],
  ]
  it.each(requests)(
    '%s %j, versioned %j: the same for every number, the first, second and nth time',
    async (path, body, versioned) => {
      const seen: unknown[] = []
      for (const phone of await numbers()) {
        const ask = () => post(server, path, { ...body, phone }, { versioned })
        seen.push(await answersOf(server, phone, ask, 50))
      }
      for (const answers of seen) expect(answers).toEqual(seen[0])
    },
  )
})

const STATES = ['unknown', 'unproven', 'proved'] as const
const ORDERS = STATES.flatMap((first) => {
  const [second, third] = STATES.filter((state) => state !== first)
  return second && third ? [[first, second, third] as const, [first, third, second] as const] : []
})
type State = (typeof STATES)[number]
/** How long the answer for each state of an address took in a round, in milliseconds. */
type Round = Record<State, number>
const PAIRS = STATES.flatMap((slow) => STATES.filter((fast) => fast !== slow).map((fast) => ({ slow, fast })))
const SLOWER = 1.25
const ROUNDS = 20
/**
 * The rounds in which one state must take clearly longer than another to count as slower. A busy machine makes any of them slow in
 * any round; if the answer waits for something, the same one is slow in nearly all.
 */
const MOST = 14

/** The pairs of states of which the first took clearly longer in most rounds; undefined while the rounds left may change that. */
function toldApart(rounds: readonly Round[]): string[] | undefined {
  const slower = PAIRS.map(({ slow, fast }) => ({
    pair: `${slow} is slower than ${fast}`,
    times: rounds.filter((ms) => ms[slow] > SLOWER * ms[fast]).length,
  }))
  const found = slower.filter(({ times }) => times >= MOST).map(({ pair }) => pair)
  const left = ROUNDS - rounds.length
  return found.length > 0 || slower.every(({ times }) => times + left < MOST) ? found : undefined
}

describe('what strangers learn from time', () => {
  const work = new RecordedWork()
  let server: TestServer
  beforeAll(async () => {
    // The cheapest hashes of the tests: the cost of real ones would hide the rest.
    const settings = {
      AUTH_SMTP_MAX_FREQUENCY: '0',
      AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
      AUTH_RATE_LIMIT_OTP: '1000000',
    }
    server = await startServer(settings, { tracing: work })
  })
  afterEach(() => server.inbox.fail(null))
  afterAll(() => server.close())

  /** Next to other tests, some runs fail by chance. A broken rule fails every run. */
  const RUNS = 6
  /** For measurements that are repeated on a busy machine. */
  const PATIENCE_MS = 240_000

  /** An address of that state which nobody has asked about. */
  async function anAddress(state: State): Promise<string> {
    const email = anEmail()
    if (state === 'unknown') return email
    const account = { email, email_confirm: state === 'proved' }
    const { status } = await post(server, '/admin/users', account, { token: serviceToken(), settle: false })
    expect(status).toBe(200)
    return email
  }

  /** As many of that state, in one statement: made by requests, they would take half as long as the measurement. */
  async function manyAddresses(state: State): Promise<string[]> {
    const emails = Array.from({ length: ROUNDS }, anEmail)
    if (state === 'unknown') return emails
    await server.context.db.query(
      `with people as (
         insert into users (id, aud, role, email, email_confirmed_at, created_at, updated_at)
         select gen_random_uuid(), 'authenticated', 'authenticated', email, $2, $3, $3 from unnest($1::text[]) email
         returning id, email
       )
       insert into identities (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
       select gen_random_uuid(), id, 'email', id, json_build_object('sub', id, 'email', email), $3, $3 from people`,
      [emails, state === 'proved' ? server.clock.now() : null, server.clock.now()],
    )
    return emails
  }

  /** Asks about each state in every round, in all orders by turns: each is slowed by what the one before it left to do. */
  async function measure(path: string, body: Json, { settle }: { settle: boolean }): Promise<string[]> {
    const [unknown = [], unproven = [], proved = []] = await Promise.all(STATES.map(manyAddresses))
    const addresses: Record<State, string[]> = { unknown, unproven, proved }
    const rounds: Round[] = []
    for (;;) {
      const round: Round = { unknown: 0, unproven: 0, proved: 0 }
      for (const state of ORDERS[rounds.length % ORDERS.length] ?? STATES) {
        const email = addresses[state][rounds.length]
        const startedAt = performance.now()
        const { status } = await post(server, path, { ...body, email }, { settle: false })
        round[state] = performance.now() - startedAt
        expect(status).toBe(200)
        // What happens after the answer must not slow down the next one.
        if (settle) await server.settled()
      }
      rounds.push(round)
      const found = toldApart(rounds)
      if (found) return found
    }
  }

  const holds = (path: string, body: Json, { settle }: { settle: boolean }) =>
    holdsInSomeRun(async () => {
      expect(await measure(path, body, { settle })).toEqual([])
    }, RUNS)

  /** The only statement that nothing stands in for: the lock of a row that was just read, too short to be told from noise. */
  const LOCK_OF_ACCOUNT = 'users_try_lock'
  const requests: [path: string, body: Json][] = [
    ['/signup', { password: PASSWORD }],
    ['/recover', {}],
    ['/magiclink', {}],
    ['/otp', {}],
    ['/resend', { type: 'signup' }],
  ]
  it.each(requests)('%s does the same work for every address', async (path, body) => {
    const seen: string[][] = []
    for (const state of STATES) {
      const email = await anAddress(state)
      expect((await post(server, path, { ...body, email })).status).toBe(200)
      seen.push(work.latest())
    }
    const [unknown = [], ...known] = seen
    expect(unknown).toContain('transaction')
    const more = path === '/signup' ? [LOCK_OF_ACCOUNT] : []
    for (const steps of known) expect(steps).toEqual([...unknown, ...more].sort())
  })

  it.each(requests)(
    '%s takes the same for every address',
    (path, body) => holds(path, body, { settle: true }),
    PATIENCE_MS,
  )

  it.each([
    ['takes 1.5 s for each email', { at: 'slow', ms: 1500 }],
    ['hangs', { at: 'hang' }],
    ['is down', { at: 'recipient', code: 421 }],
  ] as const)(
    '/signup and /recover do so while the mail server %s',
    async (_how, fault) => {
      server.inbox.fail(fault)
      await holds('/signup', { password: PASSWORD }, { settle: false })
      await holds('/recover', {}, { settle: false })
    },
    PATIENCE_MS,
  )
})
