import { describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { anEmail, aUser, expectError, PASSWORD, post, put } from './support/api.js'
import { aClient, count, signUp, statuses, times, useSharedServers } from './support/send-quotas.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { serviceToken } from './support/tokens.js'

const sharedServer = useSharedServers()

/** A server with the default quotas, and with a limit on requests that is too high to get in the way of a test. */
const aServer = (env: Record<string, string> = {}): Promise<TestServer> =>
  sharedServer(
    {
      AUTH_RATE_LIMIT_HEADER: 'X-Client',
      AUTH_RATE_LIMIT_OTP: '100000',
      AUTH_RATE_LIMIT_EMAIL_SENT: '30',
      AUTH_RATE_LIMIT_EMAIL_SENT_PER_RECIPIENT: '10',
      ...env,
    },
    startServer,
  )
/** For tests that request many messages to one address. */
const NO_GAPS = { ...NO_EMAIL_GAPS, AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '0' }

describe('quotas of emails', () => {
  it("keep thirty strangers' sign-ups from stopping everybody's recovery", async () => {
    const server = await aServer()
    const { email } = await aUser(server)
    const seen = await statuses(times(30, () => signUp(server)))
    expect(count(seen, 429)).toBeGreaterThan(0)
    expectError(await signUp(server), 429, 'over_email_send_rate_limit', 'Email rate limit exceeded')
    expect((await post(server, '/recover', { email }, aClient())).status).toBe(200)
    await server.inbox.waitForMail({ to: email, subject: 'Reset your password' })
  })

  it('keep recoveries from stopping confirmations', async () => {
    const server = await aServer()
    const recover = () => post(server, '/recover', { email: anEmail() }, aClient())
    expect(count(await statuses(times(30, recover)), 200)).toBe(24)
    expect((await signUp(server)).status).toBe(200)
  })

  it('give one client half at most, and the rest to other clients', async () => {
    const server = await aServer()
    const one = aClient()
    expect(count(await statuses(times(30, () => signUp(server, one))), 200)).toBe(15)
    expect((await signUp(server)).status).toBe(200)
    expect((await post(server, '/otp', { email: anEmail() }, aClient())).status).toBe(200)
  })

  it('limit one address to ten an hour, no matter who asks', async () => {
    const server = await aServer(NO_GAPS)
    const { email } = await aUser(server)
    const ask = () => post(server, '/magiclink', { email }, aClient())
    expect(count(await statuses(times(12, ask)), 200)).toBe(10)
    expect((await post(server, '/magiclink', { email: anEmail() }, aClient())).status).toBe(200)
    server.clock.advance(3_600_000)
    expect((await ask()).status).toBe(200)
  })

  it.each(['signup', 'email_change'])(
    'keep requests for a %s that nobody waits for from stopping what its owner needs',
    async (type) => {
      const server = await aServer(NO_GAPS)
      const { email } = await aUser(server)
      const resend = () => post(server, '/resend', { type, email }, aClient())
      const seen = await statuses(times(15, resend))
      expect(count(seen, 429)).toBeGreaterThan(0)
      expect((await post(server, '/magiclink', { email }, aClient())).status).toBe(200)
      await server.inbox.waitForMail({ to: email, subject: 'Your sign-in link' })
      expect((await post(server, '/recover', { email }, aClient())).status).toBe(200)
      await server.inbox.waitForMail({ to: email, subject: 'Reset your password' })
    },
  )

  it('leave half of what one address gets to other clients, one to each', async () => {
    const server = await aServer(NO_GAPS)
    const { email } = await aUser(server)
    const [stranger, owner] = [aClient(), aClient()]
    const ask = (from: typeof owner) => post(server, '/magiclink', { email }, from)
    expect(count(await statuses(times(10, () => ask(stranger))), 200)).toBe(5)
    expect(count(await statuses(times(10, () => ask(owner))), 200)).toBe(1)
    expect(count(await statuses(times(10, () => ask(aClient()))), 200)).toBe(4)
  })

  describe.each([
    ['two addresses', (n: number) => ['192.0.2.1', '198.51.100.1'][n % 2] ?? ''],
    ["a network of the owner's provider", (n: number) => `203.0.112.${n}`],
    ["a line of IPv6 at the owner's provider", (n: number) => `2001:db9:1000:${n}::1`],
    ['one provider of IPv4', (n: number) => `192.0.${n}.${n}`],
    ['one provider of IPv6', (n: number) => `2001:db8:${n}:${n}::1`],
  ])('leave the owner of an address a message, however much %s asked', (_name, network) => {
    it.each([
      ['/resend', { type: 'signup' }, '/signup'],
      ['/signup', { password: 'the password of a stranger' }, '/signup'],
      ['/otp', { create_user: false }, '/otp'],
      ['/recover', {}, '/recover'],
    ])('by %s %j', async (path, body, own) => {
      const server = await aServer({ ...NO_GAPS, AUTH_RATE_LIMIT_EMAIL_SENT: '100000' })
      const email = anEmail()
      const asked = times(12, (n) =>
        post(server, path, { email, ...body }, { headers: { 'X-Client': network(n) } }),
      )
      expect(count(await statuses(asked), 429)).toBeGreaterThan(0)
      const owner = network(0).startsWith('2001') ? '2001:db9:2000:1::1' : '203.0.113.5'
      const mine = { headers: { 'X-Client': owner } }
      expect((await post(server, own, { email, password: PASSWORD }, mine)).status).toBe(200)
    })
  })

  it.each([
    ['/resend', { type: 'signup' }],
    ['/resend', { type: 'email_change' }],
    ['/otp', { create_user: true }],
    ['/magiclink', {}],
    ['/signup', { password: 'the password of a stranger' }],
    ['/recover', {}],
  ])(
    "let a newcomer sign up and in, whatever a stranger's %s %j did with the address",
    async (path, body) => {
      const server = await aServer({
        AUTH_SMTP_MAX_FREQUENCY: '1s',
        AUTH_MAILER_MAGIC_LINK_MAX_FREQUENCY: '1s',
        AUTH_MAILER_EMAIL_CHANGE_MAX_FREQUENCY: '1s',
      })
      const email = anEmail()
      const stranger = aClient()
      for (let round = 0; round < 10; round += 1) {
        await post(server, path, { email, ...body }, stranger)
        server.clock.advance(1100)
      }
      const before = server.inbox.messages({ to: email }).length
      expect((await signUp(server, aClient(), email)).status).toBe(200)
      await waitFor(() => server.inbox.messages({ to: email }).length > before)
      expect((await post(server, '/otp', { email }, aClient())).status).toBe(200)
      await waitFor(() => server.inbox.messages({ to: email }).length > before + 1)
    },
  )

  it("hold up nobody's first message by the interval of a stranger's request", async () => {
    const server = await aServer()
    const email = anEmail()
    const stranger = aClient()
    for (const expected of [200, 429])
      expect((await post(server, '/resend', { type: 'signup', email }, stranger)).status).toBe(expected)
    expect((await signUp(server, aClient(), email)).status).toBe(200)
    await server.inbox.waitForMail({ to: email, subject: 'Confirm your email address' })
  })

  it('keep changes to an address that is not theirs from stopping a sign-up', async () => {
    const server = await aServer(NO_GAPS)
    const email = anEmail()
    const accounts = await Promise.all(times(4, () => aUser(server)))
    const seen = []
    for (const { access_token: token } of accounts)
      for (let round = 0; round < 3; round += 1)
        seen.push((await put(server, '/user', { email }, { token, ...aClient() })).status)
    expect(count(seen, 429)).toBeGreaterThan(0)
    expect((await signUp(server, aClient(), email)).status).toBe(200)
  })

  it('limit the changes to one address, no matter how many accounts ask, and who they name', async () => {
    const server = await aServer({ ...NO_GAPS, AUTH_RATE_LIMIT_EMAIL_SENT: '100000' })
    const victim = anEmail()
    const accounts = await Promise.all(times(6, () => aUser(server)))
    for (const { access_token: token } of accounts)
      await put(server, '/user', { email: victim }, { token, ...aClient() })
    for (const { email } of accounts)
      for (let round = 0; round < 3; round += 1)
        expect((await post(server, '/resend', { type: 'email_change', email }, aClient())).status).toBe(200)
    expect(server.inbox.messages({ to: victim })).toHaveLength(10)
  })

  it('leave half of the changes to one address to other clients, whoever was named', async () => {
    const server = await aServer(NO_GAPS)
    const victim = anEmail()
    const stranger = aClient()
    const accounts = await Promise.all(times(3, () => aUser(server)))
    for (const { access_token: token, email } of accounts) {
      await put(server, '/user', { email: victim }, { token, ...stranger })
      for (let round = 0; round < 3; round += 1)
        await post(server, '/resend', { type: 'email_change', email }, stranger)
    }
    expect(server.inbox.messages({ to: victim })).toHaveLength(5)
  })

  it('of a client count its requests for a change, not the emails that follow where there is one', async () => {
    const server = await aServer({
      AUTH_MAILER_EMAIL_CHANGE_MAX_FREQUENCY: '0',
      AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '3',
    })
    const { email, access_token: token } = await aUser(server)
    await put(server, '/user', { email: anEmail() }, { token, ...aClient() })
    const leftAfter = async (named: string) => {
      const from = aClient()
      await post(server, '/resend', { type: 'email_change', email: named }, from)
      return count(await statuses(times(4, () => signUp(server, from))), 200)
    }
    expect(await leftAfter(anEmail())).toBe(2)
    expect(await leftAfter(email)).toBe(2)
  })

  it('count the current mailbox of a change, apart from what strangers can request', async () => {
    const server = await aServer({ ...NO_GAPS, AUTH_RATE_LIMIT_EMAIL_SENT: '100000' })
    const { email, access_token: token } = await aUser(server)
    for (let round = 0; round < 10; round += 1)
      await post(server, '/resend', { type: 'email_change', email }, aClient())
    const before = server.inbox.messages({ to: email }).length
    const from = aClient()
    const change = () => put(server, '/user', { email: anEmail() }, { token, ...from })
    const seen = []
    for (let round = 0; round < 8; round += 1) seen.push((await change()).status)
    expect(count(seen, 200)).toBe(5)
    expect(server.inbox.messages({ to: email })).toHaveLength(before + 5)
  })

  it('count all labels of a mailbox together', async () => {
    const server = await aServer(NO_GAPS)
    const [name, domain] = anEmail().split('@') as [string, string]
    const ask = (label: number) => post(server, '/otp', { email: `${name}+${label}@${domain}` }, aClient())
    const seen = []
    for (let label = 0; label < 12; label += 1) seen.push((await ask(label)).status)
    expect(count(seen, 200)).toBe(10)
  })

  it('are exact for parallel requests', async () => {
    const server = await aServer({ AUTH_RATE_LIMIT_EMAIL_SENT: '5' })
    // Sign-ups may use four fifths; the last fifth is for recoveries.
    expect(count(await statuses(times(20, () => signUp(server))), 200)).toBe(4)
  })

  it('do not count requests refused by the interval', async () => {
    const all = { AUTH_RATE_LIMIT_EMAIL_SENT: '5', AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '5' }
    const server = await aServer(all)
    const [email, client] = [anEmail(), aClient()]
    for (let round = 0; round < 10; round += 1) await post(server, '/recover', { email }, client)
    // Everything except confirmations may use four emails, and the recovery took one of them.
    expect(count(await statuses(times(10, () => signUp(server))), 200)).toBe(3)
  })

  it('of one client do not count what an administrator sends', async () => {
    const server = await aServer({ AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '1' })
    const from = { ...aClient(), token: serviceToken() }
    const invite = () => post(server, '/invite', { email: anEmail() }, from)
    expect(await statuses(times(3, invite))).toEqual([200, 200, 200])
  })

  it('do not apply under autoconfirm', async () => {
    const server = await aServer({ AUTH_RATE_LIMIT_EMAIL_SENT: '0', AUTH_MAILER_AUTOCONFIRM: 'true' })
    const { email } = await aUser(server)
    expect((await post(server, '/recover', { email })).status).toBe(200)
  })
})
