import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, aUser, PASSWORD, post, put, type ApiAnswer, type Json } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'
import { startSmsServer, type SmsGateway } from './support/sms-gateway.js'
import { serviceToken } from './support/tokens.js'

const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** An answer with a description in place of each value that always differs: the address becomes a word, and ids become their order. */
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

/** The answers to a request about an address: the first, second and third time, and once the interval is over. */
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

/** One address in each state that a stranger would like to know about. */
async function addresses(
  server: TestServer,
): Promise<Record<'unknown' | 'unproven' | 'proved' | 'claimed' | 'second', string>> {
  const [unproven, claimed, second] = [anEmail(), anEmail(), anEmail()]
  for (const email of [unproven, claimed])
    await post(server, '/signup', { email, password: 'the password of somebody else' })
  // The state after a sign-in with a provider that does not vouch for the address.
  await server.context.db.query(
    `update identities set provider = 'github', provider_id = $1
     where user_id = (select id from users where email = $1)`,
    [claimed],
  )
  // The account of someone who has proved a number.
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

  /** A number in each state: unknown, used in a sign-up, proved by an account, and waiting for an account to prove it. */
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
