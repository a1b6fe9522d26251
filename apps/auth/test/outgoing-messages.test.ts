import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { waitFor } from '@signet/testkit'
import { anEmail, aPhone, aUser, mailTo, PASSWORD, post, put } from './support/api.js'
import { startInbox } from './support/inbox.js'
import { startSlowMailServer } from './support/slow-mail-server.js'
import { createInstallation } from './support/process.js'
import { NO_EMAIL_GAPS, startServer, type TestServer } from './support/server.js'
import { startSmsServer } from './support/sms-gateway.js'

const givenUp = async (server: TestServer) => {
  const { rows } = await server.context.db.query<{ traits: Record<string, unknown> }>(
    `select payload -> 'traits' as traits from audit_log_entries where payload ->> 'action' = 'message_given_up'`,
  )
  return rows.map(({ traits }) => traits)
}

describe('emails of requests', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer({
      ...NO_EMAIL_GAPS,
      AUTH_OUTBOX_POLL_INTERVAL: '20ms',
      // Longer than any test, so a message that waited behind a hanging call would not be sent in time.
      AUTH_OUTBOX_ATTEMPT_TIMEOUT: '10m',
      AUTH_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED: 'true',
    })
  })
  afterEach(() => server.inbox.fail(null))
  afterAll(() => server.close())
  const tokensOf = async (email: string) => {
    const { rows } = await server.context.db.query('select 1 from one_time_tokens where relates_to = $1', [
      email,
    ])
    return rows.length
  }

  it('are sent after the answer: a mail server that hangs delays neither the answer nor other emails', async () => {
    const mail = await startSlowMailServer()
    const slowed = await startServer({
      ...NO_EMAIL_GAPS,
      AUTH_SMTP_PORT: mail.port,
      AUTH_OUTBOX_ATTEMPT_TIMEOUT: '10m',
    })
    try {
      for (const emails of [1, 2]) {
        const person = { email: anEmail(), password: PASSWORD }
        expect((await post(slowed, '/signup', person, { settle: false })).status).toBe(200)
        // The mail server has not acknowledged any email yet.
        await waitFor(() => mail.ids.length === emails)
      }
    } finally {
      mail.close()
      await slowed.close()
    }
  })

  it('arrive exactly once after the mail server is back, with the same link', async () => {
    const user = await aUser(server)
    server.inbox.fail({ at: 'recipient', code: 451 })
    expect((await post(server, '/recover', { email: user.email })).status).toBe(200)
    expect(await tokensOf(user.email)).toBe(1)
    server.inbox.fail(null)
    server.clock.advance(2000)
    const { token } = await mailTo(server, user.email, server.inbox.messages({ to: user.email }).at(-1))
    expect((await post(server, '/verify', { type: 'recovery', token })).status).toBe(200)
    const subject = 'Reset your password'
    expect(server.inbox.messages({ to: user.email, subject })).toHaveLength(1)
  })

  it('to an address that the mail server refuses do not fail the request, and are given up visibly', async () => {
    const user = await aUser(server)
    server.inbox.fail({ at: 'recipient', to: (address) => address === user.email })
    expect((await post(server, '/recover', { email: user.email })).status).toBe(200)
    expect(await givenUp(server)).toContainEqual(
      expect.objectContaining({ mail: 'recovery', reason: 'refused', attempts: 1, user_id: user.user.id }),
    )
    expect(await tokensOf(user.email)).toBe(0)
    const metrics = await server.context.registry.metrics()
    expect(metrics).toMatch(/auth_outbox_given_up_total\{kind="email",reason="refused"\} [1-9]/)
  })

  it.each([
    ['while the mail server still fails', () => undefined],
    ['although the mail server is back', () => server.inbox.fail(null)],
  ])('are given up when the token in them has expired, %s', async (_, heal) => {
    const user = await aUser(server)
    server.inbox.fail({ at: 'recipient', code: 451, to: (address) => address === user.email })
    await post(server, '/recover', { email: user.email })
    heal()
    server.clock.advance(86_400_000)
    await waitFor(async () =>
      (await givenUp(server)).some(({ reason, user_id: id }) => reason === 'expired' && id === user.user.id),
    )
    expect(await tokensOf(user.email)).toBe(0)
    expect(server.inbox.messages({ to: user.email, subject: 'Reset your password' })).toEqual([])
  })

  it('are given up like others when they are encrypted with another key: a sign-up takes its user along', async () => {
    const email = anEmail()
    server.inbox.fail({ at: 'recipient', code: 451, to: (address) => address === email })
    await post(server, '/signup', { email, password: PASSWORD })
    const { db, stores } = server.context
    const user = await stores.users.findByEmail(db, email)
    await db.query(
      `update outbox set payload = reverse(payload)
       where id = (select id from outbox where kind = 'email' order by position desc limit 1)`,
    )
    server.inbox.fail(null)
    server.clock.advance(2000)
    await waitFor(async () => (await stores.users.findByEmail(db, email)) === null)
    expect(await tokensOf(email)).toBe(0)
    expect(await givenUp(server)).toContainEqual(
      expect.objectContaining({ mail: 'confirmation', reason: 'unreadable', user_id: user?.id }),
    )
  })

  it('report a changed password even when the quota is used up: a stranger cannot suppress them', async () => {
    const small = await startServer({
      AUTH_RATE_LIMIT_EMAIL_SENT: '1',
      AUTH_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED: 'true',
    })
    try {
      const user = await aUser(small)
      expect((await post(small, '/recover', { email: anEmail() })).status).toBe(429)
      const asUser = { token: user.access_token }
      expect((await put(small, '/user', { password: 'another password' }, asUser)).status).toBe(200)
      await small.inbox.waitForMail({ to: user.email, subject: 'Your password was changed' })
    } finally {
      await small.close()
    }
  })
})

it('leave as soon as they are committed, without a poll of the outbox', async () => {
  const { gateway, server } = await startSmsServer({
    ...NO_EMAIL_GAPS,
    AUTH_OUTBOX_POLL_INTERVAL: '1h',
    AUTH_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED: 'true',
  })
  // Nothing else may poll the outbox, as `settle` would.
  const now = { settle: false }
  try {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD }, now)
    const { token, mail } = await mailTo(server, email)
    const { body } = await post(server, '/verify', { type: 'signup', token }, now)
    // A request about an address, and the email that it leads to, are two messages.
    await post(server, '/recover', { email }, now)
    await mailTo(server, email, mail)
    const asUser = { token: String(body['access_token']), ...now }
    await put(server, '/user', { password: 'another password' }, asUser)
    await server.inbox.waitForMail({ to: email, subject: 'Your password was changed' })
    const phone = aPhone()
    await post(server, '/signup', { phone, password: PASSWORD }, now)
    await waitFor(() => gateway.messages.some(({ to }) => to.endsWith(phone)))
  } finally {
    await server.close()
  }
})

describe('a process that is killed', () => {
  const cleanups: (() => unknown)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })

  /** Prepares what the processes of one test share, and returns how to start one. */
  async function prepare() {
    const inbox = await startInbox()
    cleanups.push(() => inbox.close())
    const installation = await createInstallation({
      AUTH_SMTP_HOST: '127.0.0.1',
      AUTH_SMTP_ADMIN_EMAIL: 'no-reply@example.com',
      // Hashing may wait long on a busy machine.
      AUTH_API_MAX_REQUEST_DURATION: '60s',
      // Longer than any test, so the next process sends an email because the first one died, and not because an attempt timed out.
      AUTH_OUTBOX_ATTEMPT_TIMEOUT: '10m',
      AUTH_OUTBOX_POLL_INTERVAL: '50ms',
    })
    cleanups.push(() => installation.close())

    const start = async (smtpPort: number): Promise<{ url: string; kill: () => Promise<void> }> => {
      const { url, child } = await installation.start({ AUTH_SMTP_PORT: String(smtpPort) })
      const kill = async () => {
        child.kill('SIGKILL')
        await once(child, 'exit')
      }
      return { url, kill }
    }
    const signUp = async (server: { url: string }) => {
      const email = anEmail()
      expect((await post(server, '/signup', { email, password: PASSWORD })).status).toBe(200)
      return email
    }
    return { inbox, start, signUp }
  }

  it('between the commit and the email leaves it to the next process, which sends it once', async () => {
    const { inbox, start, signUp } = await prepare()
    // Accepts connections and never answers, so that the first process dies while it sends.
    const sockets: { destroy(): void }[] = []
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    cleanups.push(() => (sockets.forEach((socket) => socket.destroy()), silent.close()))

    const first = await start((silent.address() as AddressInfo).port)
    const email = await signUp(first)
    await waitFor(() => sockets.length > 0)
    await first.kill()
    expect(inbox.messages()).toEqual([])

    const second = await start(inbox.smtpPort)
    const { token } = await mailTo({ inbox }, email)
    expect((await post(second, '/verify', { type: 'signup', token })).status).toBe(200)
    expect(inbox.messages({ to: email })).toHaveLength(1)
  })

  // The only case in which an email is sent twice: nobody can know whether a server accepted an email that it did not acknowledge.
  it('before it hears that the email was accepted makes the next process repeat it under the same Message-ID', async () => {
    const { inbox, start, signUp } = await prepare()
    const first = await start(inbox.smtpPort)
    inbox.fail({ at: 'silent' })
    const email = await signUp(first)
    const { mail } = await mailTo({ inbox }, email)
    await first.kill()
    inbox.fail(null)

    const second = await start(inbox.smtpPort)
    const { mail: repeated, token } = await mailTo({ inbox }, email, mail)
    expect(repeated.text).toBe(mail.text)
    expect((await post(second, '/verify', { type: 'signup', token })).status).toBe(200)
    // There are more than two if the first process had time to try again.
    const ids = inbox.messages({ to: email }).map(({ headers }) => headers['message-id'])
    expect(new Set(ids).size).toBe(1)
  })
})
