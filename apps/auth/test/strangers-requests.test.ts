import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  anEmail,
  aPhone,
  aUser,
  expectError,
  get,
  mailTo,
  PASSWORD,
  post,
  put,
  type Json,
} from './support/api.js'
import { NO_EMAIL_GAPS, type TestServer } from './support/server.js'
import { startSmsServer, type SmsGateway } from './support/sms-gateway.js'

let server: TestServer
let gateway: SmsGateway
beforeAll(async () => {
  ;({ server, gateway } = await startSmsServer({
    ...NO_EMAIL_GAPS,
    AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
    AUTH_SMS_MAX_FREQUENCY: '0',
    AUTH_RATE_LIMIT_HEADER: 'X-Client',
    AUTH_RATE_LIMIT_EMAIL_SENT_PER_RECIPIENT: '10',
  }))
})
afterAll(() => server.close())

let clients = 0
const aClient = () => ({ headers: { 'X-Client': `client-${(clients += 1)}` } })
type Client = ReturnType<typeof aClient>

/** What the owner of an account waits for, and how any client can request the same. */
type Awaited = {
  verify: () => Promise<{ status: number; body: Json }>
  again: (from: Client) => Promise<{ status: number }>
}

const verify = (body: Json) => post(server, '/verify', body)
const codeAfter = async (phone: string, request: Promise<{ status: number }>) => {
  expect((await request).status).toBe(200)
  await server.settled()
  return gateway.codeFor(phone)
}
const PKCE = { code_challenge: 'v'.repeat(43), code_challenge_method: 'plain' }

const linkRequested =
  (path: string, type: string, extra: Json = {}) =>
  async (): Promise<Awaited> => {
    const { email } = await aUser(server)
    const last = server.inbox.messages({ to: email }).at(-1)
    await post(server, path, { email, ...extra }, aClient())
    const { token } = await mailTo(server, email, last)
    return {
      verify: () => verify({ type, token }),
      again: (from) => post(server, path, { email, ...extra, ...PKCE }, from),
    }
  }

const AWAITED: Record<string, () => Promise<Awaited>> = {
  'a link to recover': linkRequested('/recover', 'recovery'),
  'a link to sign in': linkRequested('/magiclink', 'magiclink'),
  'a code to sign in': async () => {
    const { email } = await aUser(server)
    const last = server.inbox.messages({ to: email }).at(-1)
    await post(server, '/otp', { email }, aClient())
    const { code } = await mailTo(server, email, last)
    return {
      verify: () => verify({ type: 'email', email, token: code }),
      again: (from) => post(server, '/otp', { email, ...PKCE }, from),
    }
  },
  'the link of a sign-up': async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD }, aClient())
    const { token } = await mailTo(server, email)
    return {
      verify: () => verify({ type: 'signup', token }),
      again: (from) => post(server, '/resend', { type: 'signup', email, ...PKCE }, from),
    }
  },
  'the code of a sign-up': async () => {
    const phone = aPhone()
    const code = await codeAfter(phone, post(server, '/signup', { phone, password: PASSWORD }, aClient()))
    return {
      verify: () => verify({ type: 'sms', phone, token: code }),
      again: (from) => post(server, '/resend', { type: 'sms', phone }, from),
    }
  },
  'a code to sign in by SMS': async () => {
    const phone = aPhone()
    const first = await codeAfter(phone, post(server, '/otp', { phone }, aClient()))
    await verify({ type: 'sms', phone, token: first })
    const code = await codeAfter(phone, post(server, '/otp', { phone }, aClient()))
    return {
      verify: () => verify({ type: 'sms', phone, token: code }),
      again: (from) => post(server, '/otp', { phone }, from),
    }
  },
  'the link of a new address': async () => {
    const user = await aUser(server)
    const email = anEmail()
    await put(server, '/user', { email }, { token: user.access_token })
    const { token } = await mailTo(server, email)
    return {
      verify: () => verify({ type: 'email_change', token }),
      again: (from) => post(server, '/resend', { type: 'email_change', email: user.email, ...PKCE }, from),
    }
  },
  'the code of a new number': async () => {
    const user = await aUser(server)
    const phone = aPhone()
    const code = await codeAfter(phone, put(server, '/user', { phone }, { token: user.access_token }))
    return {
      verify: () => verify({ type: 'phone_change', phone, token: code }),
      again: (from) => post(server, '/resend', { type: 'phone_change', email: user.email }, from),
    }
  },
}

describe("a stranger's requests", () => {
  it.each(Object.entries(AWAITED))('leave %s to its owner', async (_, request) => {
    const owners = await request()
    const stranger = aClient()
    for (let round = 0; round < 4; round += 1) {
      expect((await owners.again(stranger)).status).toBe(200)
      await server.settled()
    }
    expect((await owners.verify()).status).toBe(200)
  })

  it.each(Object.entries(AWAITED))(
    'from two networks, in parallel, leave %s to its owner',
    async (_, request) => {
      const owners = await request()
      await Promise.all([aClient(), aClient()].map((from) => owners.again(from)))
      await server.settled()
      expect((await owners.verify()).status).toBe(200)
    },
  )
})

describe("a stranger's sign-ups", () => {
  it('leave the link of a sign-up to its owner, however many one network may ask for', async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD }, aClient())
    const { token } = await mailTo(server, email)
    const stranger = aClient()
    const seen: number[] = []
    for (let round = 0; round < 12; round += 1)
      seen.push((await post(server, '/signup', { email, password: `${PASSWORD}!` }, stranger)).status)
    expect(seen.filter((status) => status === 200)).toHaveLength(5)
    expect((await verify({ type: 'signup', token })).status).toBe(200)
    expect((await post(server, '/token?grant_type=password', { email, password: PASSWORD })).status).toBe(200)
  })
})

describe('the links of several clients', () => {
  const requested = async (email: string, from: Client) => {
    await server.settled()
    const last = server.inbox.messages({ to: email }).at(-1)
    await post(server, '/recover', { email }, from)
    return (await mailTo(server, email, last)).token
  }
  const recover = (token: string | undefined) => verify({ type: 'recovery', token })

  it('work beside each other; the next one of a client replaces its own alone', async () => {
    const { email } = await aUser(server)
    const [one, other] = [aClient(), aClient()]
    const first = await requested(email, one)
    const others = await requested(email, other)
    await requested(email, one)
    expectError(await recover(first), 403, 'otp_expired')
    expect((await recover(others)).status).toBe(200)
  })

  it('end all when one of them is used', async () => {
    const { email } = await aUser(server)
    const links = [await requested(email, aClient()), await requested(email, aClient())]
    expect((await recover(links[1])).status).toBe(200)
    expectError(await recover(links[0]), 403, 'otp_expired')
  })

  it('are three at most, so that a guess at a code meets no more', async () => {
    const { email } = await aUser(server)
    const links: (string | undefined)[] = []
    for (let n = 0; n < 4; n += 1) {
      links.push(await requested(email, aClient()))
      server.clock.advance(1000)
    }
    expectError(await recover(links[0]), 403, 'otp_expired')
    expect((await recover(links[1])).status).toBe(200)
  })

  it('to one address of an email change are not the confirmation of both', async () => {
    const user = await aUser(server)
    const email = anEmail()
    await put(server, '/user', { email }, { token: user.access_token })
    const first = await mailTo(server, email)
    await post(server, '/resend', { type: 'email_change', email: user.email }, aClient())
    const second = await mailTo(server, email, first.mail)
    expect((await verify({ type: 'email_change', token: first.token })).status).toBe(200)
    expectError(await verify({ type: 'email_change', token: second.token }), 403, 'otp_expired')
    const { body } = await get(server, '/user', { token: user.access_token })
    expect(body).toMatchObject({ email: user.email, new_email: email })
  })

  it('end when the change that they confirm is replaced by another', async () => {
    const user = await aUser(server)
    const [email, next] = [anEmail(), anEmail()]
    await put(server, '/user', { email }, { token: user.access_token })
    const first = await mailTo(server, email)
    await post(server, '/resend', { type: 'email_change', email: user.email }, aClient())
    const second = await mailTo(server, email, first.mail)
    const current = await mailTo(server, user.email)
    await put(server, '/user', { email: next }, { token: user.access_token })
    for (const { token } of [first, second, current])
      expectError(await verify({ type: 'email_change', token }), 403, 'otp_expired')
  })
})
