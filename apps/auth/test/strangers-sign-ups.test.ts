import { afterEach, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, expectError, mailTo, PASSWORD, post, type Json } from './support/api.js'
import { NO_EMAIL_GAPS, type TestServer } from './support/server.js'
import { startSmsServer, type SmsGateway } from './support/sms-gateway.js'
import { serviceToken } from './support/tokens.js'

const HOUR = 3_600_000
const ADMIN = { token: serviceToken(), versioned: true }
const STRANGERS = 'the password of a stranger'
const [OWNER, STRANGER] = [{ headers: { 'X-Client': 'owner' } }, { headers: { 'X-Client': 'stranger' } }]

let server: TestServer
let gateway: SmsGateway
afterEach(() => server.close())

async function begin(env: Record<string, string> = {}): Promise<void> {
  ;({ server, gateway } = await startSmsServer({
    ...NO_EMAIL_GAPS,
    AUTH_RATE_LIMIT_HEADER: 'X-Client',
    AUTH_RATE_LIMIT_OTP: '100000',
    AUTH_RATE_LIMIT_EMAIL_SENT_PER_RECIPIENT: '10',
    AUTH_UNCONFIRMED_USER_RETENTION: '24h',
    ...env,
  }))
}

let networks = 0
const aNetwork = () => ({ headers: { 'X-Client': `network ${(networks += 1)}` } })

/** Uses up what an address may be sent, which takes many networks. */
async function exhaust(path: string, body: Json): Promise<void> {
  const first = aNetwork()
  for (let n = 0; n < 10; n += 1) await post(server, path, body, n < 5 ? first : aNetwork())
}

const signUp = (email: string, password: string, from: typeof OWNER) =>
  post(server, '/signup', { email, password }, from)
const resend = (email: string, from: typeof OWNER) => post(server, '/resend', { type: 'signup', email }, from)
const signIn = (email: string, password: string) =>
  post(server, '/token?grant_type=password', { email, password })

/** Ways in which only a stranger's sign-up is left, although the owner has signed up too. */
const ONLY_THE_STRANGERS_IS_LEFT: Record<string, (email: string) => Promise<void>> = {
  "the clean-up removed the owner's": async (email) => {
    await signUp(email, PASSWORD, OWNER)
    server.clock.advance(23 * HOUR)
    await signUp(email, STRANGERS, STRANGER)
    server.clock.advance(2 * HOUR)
    await server.context.cleanup.run()
  },
  "the mail server refused the owner's, later": async (email) => {
    server.inbox.fail({ at: 'recipient', code: 450, to: (address) => address === email })
    await signUp(email, PASSWORD, OWNER)
    server.inbox.fail(null)
    await signUp(email, STRANGERS, STRANGER)
    server.inbox.fail({ at: 'recipient', code: 550, to: (address) => address === email })
    server.clock.advance(60_000)
    await server.context.outboxSender.poll()
    await server.settled()
    server.inbox.fail(null)
  },
  'a quota refused the owner': async (email) => {
    await signUp(email, STRANGERS, STRANGER)
    for (let n = 1; n < 10; n += 1) await resend(email, n < 5 ? STRANGER : aNetwork())
    expectError(await signUp(email, PASSWORD, OWNER), 429, 'over_email_send_rate_limit')
    server.clock.advance(HOUR + 1000)
  },
  'a quota refused the owner before the stranger signed up': async (email) => {
    await exhaust('/resend', { type: 'signup', email })
    expectError(await signUp(email, PASSWORD, OWNER), 429, 'over_email_send_rate_limit')
    server.clock.advance(HOUR + 1000)
    await signUp(email, STRANGERS, STRANGER)
  },
  'a quota refused the owner a sign-in link': async (email) => {
    await server.close()
    await begin({ AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0' })
    await exhaust('/otp', { email, create_user: true })
    await signUp(email, STRANGERS, STRANGER)
    expectError(await post(server, '/otp', { email }, OWNER), 429, 'over_email_send_rate_limit')
  },
  "the limit of the owner's network refused the owner": async (email) => {
    await signUp(email, STRANGERS, STRANGER)
    for (let n = 0; n < 30; n += 1) await signUp(anEmail(), STRANGERS, OWNER)
    expectError(await signUp(email, PASSWORD, OWNER), 429, 'over_request_rate_limit')
  },
  'an interval refused the owner': async (email) => {
    await server.close()
    await begin({ AUTH_SMTP_MAX_FREQUENCY: '900s' })
    await signUp(email, STRANGERS, OWNER)
    expectError(await signUp(email, PASSWORD, OWNER), 429, 'over_email_send_rate_limit')
    server.clock.advance(HOUR)
  },
}

describe("a stranger's password", () => {
  it.each(Object.entries(ONLY_THE_STRANGERS_IS_LEFT))(
    'stays off the account when the owner asks for the email again: %s',
    async (_, prepare) => {
      await begin()
      const email = anEmail()
      await prepare(email)
      await server.settled()
      const last = server.inbox.messages({ to: email }).at(-1)
      expect((await resend(email, OWNER)).status).toBe(200)
      const { token } = await mailTo(server, email, last)
      const proof = { type: 'signup', token }
      expectError(await post(server, '/verify', proof, OWNER), 422, 'validation_failed')
      expect((await post(server, '/verify', { ...proof, password: PASSWORD }, OWNER)).status).toBe(200)
      expectError(await signIn(email, STRANGERS), 400, 'invalid_credentials')
      expect((await signIn(email, PASSWORD)).status).toBe(200)
    },
  )
})

describe("a stranger's sign-up", () => {
  it.each(['/admin/users', '/admin/generate_link', '/invite'])(
    'is not completed by another email for an account of %s',
    async (path) => {
      await begin()
      const email = anEmail()
      const password = path === '/invite' ? undefined : PASSWORD
      await post(server, path, { email, type: 'signup', password }, ADMIN)
      await signUp(email, STRANGERS, OWNER)
      const last = server.inbox.messages({ to: email }).at(-1)
      await resend(email, OWNER)
      const { token } = await mailTo(server, email, last)
      const proof = { type: 'signup', token, password: PASSWORD }
      expect((await post(server, '/verify', proof, OWNER)).status).toBe(200)
      expectError(await signIn(email, STRANGERS), 400, 'invalid_credentials')
      expect((await signIn(email, PASSWORD)).status).toBe(200)
    },
  )

  it.each(['link', 'code'])(
    "is not completed by the %s of an email from before the owner's",
    async (what) => {
      await begin()
      const email = anEmail()
      await signUp(email, STRANGERS, STRANGER)
      const last = server.inbox.messages({ to: email }).at(-1)
      await resend(email, STRANGER)
      const { token, code } = await mailTo(server, email, last)
      await signUp(email, PASSWORD, OWNER)
      const proof = what === 'link' ? { type: 'signup', token } : { type: 'email', email, token: code }
      expect((await post(server, '/verify', { ...proof, password: PASSWORD }, OWNER)).status).toBe(200)
      expectError(await signIn(email, STRANGERS), 400, 'invalid_credentials')
    },
  )

  it('does not make the right password of another sign-up wrong', async () => {
    await begin()
    const email = anEmail()
    await signUp(email, PASSWORD, OWNER)
    server.clock.advance(1000)
    await signUp(email, STRANGERS, STRANGER)
    const credentials = { email, password: PASSWORD }
    expectError(
      await post(server, '/token?grant_type=password', credentials, OWNER),
      400,
      'email_not_confirmed',
    )
  })

  it('does not displace one with another address of the account', async () => {
    await begin({ AUTH_EXTERNAL_PHONE_ENABLED: 'true' })
    const [email, phone] = [anEmail(), aPhone()]
    const account = { email, phone, password: PASSWORD, email_confirm: true, phone_confirm: true }
    await post(server, '/admin/users', account, ADMIN)
    await signUp(email, STRANGERS, STRANGER)
    for (let n = 0; n < 10; n += 1) {
      server.clock.advance(HOUR / 2)
      const answer = await post(server, '/signup', { phone, password: STRANGERS }, STRANGER)
      expect(answer.status).toBe(200)
    }
    expectError(await signIn(email, STRANGERS), 400, 'email_not_confirmed')
  })
})

describe("an owner's link or code", () => {
  it.each(['/signup', '/otp'])('survives ten %s of one network, however much time it takes', async (path) => {
    await begin({ AUTH_SMTP_MAX_FREQUENCY: '900s', AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '60s' })
    const email = anEmail()
    await post(server, path, { email, password: PASSWORD }, OWNER)
    const { token } = await mailTo(server, email)
    for (let n = 0; n < 12; n += 1) {
      server.clock.advance(901_000)
      expect((await post(server, path, { email, password: STRANGERS }, STRANGER)).status).toBe(200)
    }
    expect((await post(server, '/verify', { type: 'signup', token }, OWNER)).status).toBe(200)
  })

  it('survives nine networks, one of which asks twice', async () => {
    await begin()
    const email = anEmail()
    await signUp(email, PASSWORD, OWNER)
    const { token } = await mailTo(server, email)
    const others = Array.from({ length: 9 }, aNetwork)
    for (const other of [...others, ...others.slice(0, 1)]) {
      server.clock.advance(HOUR / 4)
      expect((await signUp(email, STRANGERS, other)).status).toBe(200)
    }
    expect((await post(server, '/verify', { type: 'signup', token }, OWNER)).status).toBe(200)
  })

  it("survives that a stranger's message for the same sign-up is refused", async () => {
    await begin()
    const [email, phone] = [anEmail(), aPhone()]
    await signUp(email, PASSWORD, OWNER)
    await post(server, '/signup', { phone, password: PASSWORD }, OWNER)
    const { token } = await mailTo(server, email)
    const code = gateway.codeFor(phone)
    server.inbox.fail({ at: 'message', code: 554 })
    gateway.refuse(true)
    await resend(email, STRANGER)
    await post(server, '/resend', { type: 'sms', phone }, STRANGER)
    server.inbox.fail(null)
    gateway.refuse(false)
    expect((await post(server, '/verify', { type: 'signup', token }, OWNER)).status).toBe(200)
    expect((await post(server, '/verify', { type: 'sms', phone, token: code }, OWNER)).status).toBe(200)
    expect((await signIn(email, PASSWORD)).status).toBe(200)
  })
})
