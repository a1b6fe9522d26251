import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, aUser, expectError, PASSWORD, post, put } from './support/api.js'
import { NO_EMAIL_GAPS, type TestServer } from './support/server.js'
import { anId, link, startProviderSite, type ProviderSite } from './support/provider-site.js'
import { startSmsServer } from './support/sms-gateway.js'

let clients = 0
const aClient = () => ({ headers: { 'X-Client': `client-${(clients += 1)}` }, versioned: true })
type From = ReturnType<typeof aClient>

// Tests of requests whose answers reveal whether an address has an account (docs/threat-model.md#what-strangers-learn).
let server: TestServer
const statuses = async (answers: Iterable<() => ReturnType<typeof post>>) => {
  const seen: number[] = []
  for (const answer of answers) seen.push((await answer()).status)
  return seen
}
const times = <T>(n: number, make: () => T): T[] => Array.from({ length: n }, make)

describe('asking for a code only if the address has an account', () => {
  beforeAll(async () => {
    const settings = {
      ...NO_EMAIL_GAPS,
      AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0',
      AUTH_SMS_MAX_FREQUENCY: '0',
      AUTH_RATE_LIMIT_HEADER: 'X-Client',
      AUTH_RATE_LIMIT_EMAIL_SENT_PER_RECIPIENT: '4',
      AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '6',
      AUTH_RATE_LIMIT_SMS_SENT_PER_RECIPIENT: '4',
      AUTH_RATE_LIMIT_SMS_SENT_PER_CLIENT: '6',
    }
    ;({ server } = await startSmsServer(settings))
  })
  afterAll(() => server.close())
  const ask = (address: { email: string } | { phone: string }, from: From) =>
    post(server, '/otp', { ...address, create_user: false }, from)

  it.each([
    ['email', () => ({ email: anEmail() })],
    ['phone', () => ({ phone: aPhone() })],
  ] as const)('is limited for each client, like sending: %s', async (_kind, address) => {
    const from = aClient()
    expect(await statuses(times(7, () => () => ask(address(), from)))).toEqual([...times(6, () => 422), 429])
    expectError(await ask(address(), aClient()), 422, 'otp_disabled')
  })

  it('is limited for each address, the same with and without an account', async () => {
    const { email } = await aUser(server)
    const unknown = anEmail()
    const asked = (address: string) => statuses(times(5, () => () => ask({ email: address }, aClient())))
    expect(await asked(email)).toEqual([200, 200, 200, 200, 429])
    expect(await asked(unknown)).toEqual([422, 422, 422, 422, 429])
    expectError(await ask({ email: unknown }, aClient()), 429, 'over_email_send_rate_limit')
  })

  it('sends nothing to an address without one, and stores no request', async () => {
    const email = anEmail()
    expectError(await ask({ email }, aClient()), 422, 'otp_disabled')
    await server.settled()
    expect(server.inbox.messages({ to: email })).toEqual([])
  })
})

describe('changing to an address', () => {
  beforeAll(async () => {
    const settings = {
      ...NO_EMAIL_GAPS,
      AUTH_RATE_LIMIT_HEADER: 'X-Client',
      AUTH_RATE_LIMIT_EMAIL_SENT_PER_RECIPIENT: '4',
      AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '6',
    }
    ;({ server } = await startSmsServer(settings))
  })
  afterAll(() => server.close())
  const aTakenEmail = async () => (await aUser(server)).email
  /** Requests the address for an account that has requested nothing yet. */
  const change = async (email: string, from: From) => {
    const { access_token: token } = await aUser(server)
    return put(server, '/user', { email }, { ...from, token })
  }

  it('is limited for each client, like sending: two emails each', async () => {
    const from = aClient()
    const asked = times(4, () => async () => change(await aTakenEmail(), from))
    expect(await statuses(asked)).toEqual([422, 422, 422, 429])
  })

  it('is limited for each address, the same with and without an account', async () => {
    const [taken, free] = [await aTakenEmail(), anEmail()]
    const asked = (address: string) => statuses(times(5, () => () => change(address, aClient())))
    expect(await asked(taken)).toEqual([422, 422, 422, 422, 429])
    expect(await asked(free)).toEqual([200, 200, 200, 200, 429])
  })

  it.each([
    ['a weak password', { password: '123' }, 'weak_password'],
    ['the current password', { password: PASSWORD }, 'same_password'],
    ['too much data', { data: { text: 'x'.repeat(9000) } }, 'validation_failed'],
    ['another number too soon', { phone: aPhone() }, 'over_sms_send_rate_limit'],
  ])('is refused without a look at the address for %s', async (_, rest, code) => {
    const { access_token: token } = await aUser(server)
    const from = { ...aClient(), token }
    expect((await put(server, '/user', { phone: aPhone() }, from)).status).toBe(200)
    for (const email of [await aTakenEmail(), anEmail()]) {
      const { status, body } = await put(server, '/user', { email, ...rest }, from)
      expect([status < 500, body['code']]).toEqual([true, code])
    }
  })
})

describe('linking a provider account that claims an address', () => {
  let site: ProviderSite
  beforeAll(async () => {
    site = await startProviderSite({
      ...NO_EMAIL_GAPS,
      AUTH_RATE_LIMIT_HEADER: 'X-Client',
      AUTH_RATE_LIMIT_EMAIL_SENT_PER_RECIPIENT: '4',
      AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '6',
    })
  })
  afterAll(() => site.close())
  const aTakenEmail = async () => (await aUser(site.server)).email
  /** Links a provider account to an account without an address, which would get this one. Returns the error code. */
  const claim = async (email: string, { headers }: From) => {
    const { body } = await post(site.server, '/signup', {}, aClient())
    site.github(anId(), { email, verified: false })
    return (await link(site.server, String(body['access_token']), 'github', headers)).query['error_code']
  }
  const codes = async (answers: Iterable<() => ReturnType<typeof claim>>) => {
    const seen: unknown[] = []
    for (const answer of answers) seen.push(await answer())
    return seen
  }
  const refused = 'over_email_send_rate_limit'

  it('is limited for each client, like sending', async () => {
    const from = aClient()
    const asked = times(7, () => async () => claim(await aTakenEmail(), from))
    expect(await codes(asked)).toEqual([...times(6, () => 'email_exists'), refused])
  })

  it('is limited for each address, the same with and without an account', async () => {
    const [taken, free] = [await aTakenEmail(), anEmail()]
    const asked = (email: string) => codes(times(5, () => () => claim(email, aClient())))
    expect(await asked(taken)).toEqual([...times(4, () => 'email_exists'), refused])
    expect(await asked(free)).toEqual([...times(4, () => 'email_not_confirmed'), refused])
  })
})

describe('the interval between two changes of address', () => {
  it('holds for such questions, too', async () => {
    const { server } = await startSmsServer({ AUTH_RATE_LIMIT_HEADER: 'X-Client' })
    try {
      const { access_token: token } = await aUser(server)
      const ask = (email: string) => put(server, '/user', { email }, { ...aClient(), token })
      expect((await ask(anEmail())).status).toBe(200)
      for (const email of [(await aUser(server)).email, anEmail()])
        expectError(await ask(email), 429, 'over_email_send_rate_limit')
    } finally {
      await server.close()
    }
  })
})

describe('the interval between two magic links', () => {
  it('holds for such questions, too', async () => {
    const { server } = await startSmsServer({ AUTH_RATE_LIMIT_HEADER: 'X-Client' })
    try {
      const [email, from] = [anEmail(), aClient()]
      const ask = () => post(server, '/otp', { email, create_user: false }, from)
      expectError(await ask(), 422, 'otp_disabled')
      expectError(await ask(), 429, 'over_email_send_rate_limit')
    } finally {
      await server.close()
    }
  })
})
