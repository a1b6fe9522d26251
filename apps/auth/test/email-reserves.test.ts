import { describe, expect, it } from '@jest/globals'
import { anEmail, aUser, expectError, PASSWORD, post } from './support/api.js'
import { startServer, type TestServer } from './support/server.js'

/** A server with the default quotas, and with a limit on requests that is too high to get in the way of a test. */
const aServer = (env: Record<string, string> = {}): Promise<TestServer> =>
  startServer({
    AUTH_RATE_LIMIT_HEADER: 'X-Client',
    AUTH_RATE_LIMIT_OTP: '100000',
    AUTH_RATE_LIMIT_EMAIL_SENT: '30',
    AUTH_RATE_LIMIT_EMAIL_SENT_PER_RECIPIENT: '10',
    ...env,
  })
const from = (client: string) => ({ headers: { 'X-Client': client } })
const recover = (server: TestServer, client: string, email = anEmail()) =>
  post(server, '/recover', { email }, from(client))
const signUp = (server: TestServer, client: string, email = anEmail()) =>
  post(server, '/signup', { email, password: PASSWORD }, from(client))

/** Requests at least thirty recoveries and as many sign-ups, and returns how many the server accepted. */
async function flood(server: TestServer, clients: readonly string[]): Promise<number> {
  let accepted = 0
  for (const request of [recover, signUp])
    for (const client of clients)
      for (let round = 0; round < 30 / Math.min(clients.length, 30); round += 1)
        if ((await request(server, client)).status === 200) accepted += 1
  return accepted
}

const times = <T>(n: number, make: (index: number) => T): T[] => Array.from({ length: n }, (_, n) => make(n))

describe('the reserves of the email quota', () => {
  it.each([
    ['two addresses', ['192.0.2.1', '198.51.100.1']],
    ['two networks of IPv4', times(60, (n) => `${n % 2 === 0 ? '203.0' : '198.51'}.${n}.${n}`)],
    ['two providers of IPv6', times(60, (n) => `2001:${n % 2}:${n.toString(16)}:${n}::1`)],
    ['two clients that a header tells apart', ['one', 'another']],
  ])('are open to anyone else while %s flood everything', async (_name, clients) => {
    const server = await aServer()
    try {
      const { email } = await aUser(server)
      await flood(server, clients)
      expect((await recover(server, '192.168.7.7', email)).status).toBe(200)
      await server.inbox.waitForMail({ to: email, subject: 'Reset your password' })
      const newcomer = anEmail()
      expect((await signUp(server, '192.168.7.7', newcomer)).status).toBe(200)
      await server.inbox.waitForMail({ to: newcomer, subject: 'Confirm your email address' })
    } finally {
      await server.close()
    }
  })

  it('are part of the quota, which no number of networks exceeds', async () => {
    const server = await aServer()
    try {
      expect(
        await flood(
          server,
          times(100, (n) => `10.${n}.1.1`),
        ),
      ).toBe(30)
      expectError(await recover(server, '10.200.1.1'), 429, 'over_email_send_rate_limit')
    } finally {
      await server.close()
    }
  })

  it('give one network the tenth part, narrower ones less, and everyone at least one email', async () => {
    const server = await aServer({
      AUTH_RATE_LIMIT_EMAIL_SENT: '200',
      AUTH_RATE_LIMIT_EMAIL_SENT_PER_CLIENT: '200',
    })
    const accepted = async (clients: readonly string[]) => {
      let count = 0
      for (const client of clients) if ((await recover(server, client)).status === 200) count += 1
      return count
    }
    try {
      // The part of the quota that is not reserved.
      expect(await accepted(times(120, (n) => `10.${n % 8}.1.1`))).toBe(120)
      // The reserve is 40 emails. Of those, an IPv4 /16 gets 4, a /24 gets 2, and an address gets 1.
      expect(await accepted(times(10, () => '192.0.2.1'))).toBe(1)
      expect(await accepted(times(10, (n) => `192.0.2.${n}`))).toBe(1)
      expect(await accepted(times(10, (n) => `192.0.3.${n}`))).toBe(2)
      expect(await accepted(times(10, (n) => `192.1.${n}.1`))).toBe(4)
      // An IPv6 /32 gets 4, and a /64 gets 1 of those.
      expect(await accepted(times(10, () => '2001:db8:1:1::1'))).toBe(1)
      expect(await accepted(times(10, (n) => `2001:db8:${n.toString(16)}00:1::1`))).toBe(3)
    } finally {
      await server.close()
    }
  })

  it('give one network as much as operators say', async () => {
    const server = await aServer({ AUTH_RATE_LIMIT_EMAIL_SENT_RESERVE_SHARE: '50' })
    try {
      for (let n = 0; n < 18; n += 1) expect((await recover(server, `client-${n}`)).status).toBe(200)
      const seen: number[] = []
      for (let n = 0; n < 4; n += 1) seen.push((await recover(server, 'one')).status)
      expect(seen).toEqual([200, 200, 200, 429])
    } finally {
      await server.close()
    }
  })

  it('refill for each network at the pace of the quota', async () => {
    const server = await aServer({ AUTH_RATE_LIMIT_EMAIL_SENT: '30/2m' })
    try {
      await flood(server, ['192.0.2.1', '198.51.100.1'])
      expectError(await recover(server, '192.0.2.1'), 429, 'over_email_send_rate_limit')
      expect((await recover(server, '203.0.113.1')).status).toBe(200)
      server.clock.advance(3_600_000)
      expect((await recover(server, '203.0.113.1')).status).toBe(200)
    } finally {
      await server.close()
    }
  })
})
