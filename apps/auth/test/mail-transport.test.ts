import { createAuthority, issueCertificate } from '@signet/local'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { startInbox } from './support/inbox.js'
import { MailRig, MESSAGE, variables } from './support/mailer.js'
import { UndeliverableError } from '../src/outbox/outbox-handler.js'
import { connectionOptions } from '@signet/mail'

let rig: MailRig
beforeAll(async () => {
  rig = await MailRig.start()
})
beforeEach(() => rig.reset())
afterEach(() => rig.closeTransports())
afterAll(() => rig.close())

describe('the connection to the mail server', () => {
  it('uses the sender name, or else the address as the name', async () => {
    await rig
      .aTransport({ smtp: rig.smtp({ senderName: 'App "Dev", Inc.' }) })
      .send('invite', 'a@example.com', variables, MESSAGE)
    await rig.aTransport().send('invite', 'b@example.com', variables, MESSAGE)
    expect((await rig.inbox.waitForMail({ to: 'a@example.com' })).sender).toContain('App "Dev", Inc.')
    const mail = await rig.inbox.waitForMail({ to: 'b@example.com' })
    expect(mail.sender).toMatch(/^(no-reply@app\.dev )?<?no-reply@app\.dev>?$/)
    expect(mail.from).toBe('no-reply@app.dev')
  })

  it('speaks TLS from the start on port 465 only, and signs in only with a user', () => {
    expect(connectionOptions(rig.smtp({ port: 465 }))).toMatchObject({ secure: true })
    expect(connectionOptions(rig.smtp({ port: 587, user: 'u', pass: 'p' }))).toMatchObject({
      secure: false,
      auth: { user: 'u', pass: 'p' },
    })
    expect(connectionOptions(rig.smtp({ pass: 'p' }))).not.toHaveProperty('auth')
  })

  it('uses STARTTLS when it is offered, checks the certificate and signs in', async () => {
    const authority = await createAuthority()
    const credentials = { user: 'u', pass: 'p' }
    const strict = await startInbox({ tls: await issueCertificate(authority), credentials })
    const config = { smtp: rig.smtp({ host: 'localhost', port: strict.smtpPort, ...credentials }) }
    try {
      await expect(
        rig.aTransport(config).send('invite', 'a@example.com', variables, MESSAGE),
      ).rejects.toThrow()
      await rig
        .aTransport(config, { smtpCa: authority.cert })
        .send('invite', 'a@example.com', variables, MESSAGE)
      expect(strict.messages()).toHaveLength(1)
    } finally {
      await rig.closeTransports()
      await strict.close()
    }
  })

  it.each([
    ['recipient', 550, 'the mail server answered 550 to RCPT TO'],
    ['message', 554, 'the mail server answered 554 to DATA'],
  ] as const)('takes a refusal of the %s with %i for final', async (at, code, reason) => {
    rig.inbox.fail({ at, code })
    const outcomes: string[] = []
    const observer = {
      ...rig.observer,
      mailTried: (kind: string, outcome: string) => void outcomes.push(`${kind} ${outcome}`),
    }
    const transport = rig.aTransport({}, { observer })
    const failure = transport.send('invite', 'a@example.com', variables, MESSAGE)
    await expect(failure).rejects.toEqual(new UndeliverableError(reason))
    rig.inbox.fail(null)
    await transport.send('invite', 'a@example.com', variables, MESSAGE)
    expect(outcomes).toEqual(['invite failed', 'invite sent'])
  })

  it.each(['recipient', 'message'] as const)(
    'takes 451 about the %s for a reason to come back',
    async (at) => {
      rig.inbox.fail({ at, code: 451 })
      const failure: unknown = await rig
        .aTransport()
        .send('invite', 'a@example.com', variables, MESSAGE)
        .catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(Error)
      expect(failure).not.toBeInstanceOf(UndeliverableError)
    },
  )

  it('retries when the server rejects our credentials', async () => {
    const strict = await startInbox({ credentials: { user: 'u', pass: 'p' } })
    try {
      const smtp = rig.smtp({ port: strict.smtpPort, user: 'u', pass: 'wrong' })
      const failure = rig.aTransport({ smtp }).send('invite', 'a@example.com', variables, MESSAGE)
      await expect(failure).rejects.toMatchObject({ code: 'EAUTH' })
      await expect(failure).rejects.not.toBeInstanceOf(UndeliverableError)
    } finally {
      await rig.closeTransports()
      await strict.close()
    }
  })

  it('gives up with its caller on a server that accepts the email and never answers', async () => {
    rig.inbox.fail({ at: 'hang' })
    const message = { ...MESSAGE, signal: AbortSignal.timeout(200) }
    await expect(rig.aTransport().send('invite', 'a@example.com', variables, message)).rejects.toThrow()
  })

  it('uses the same Message-ID in every attempt, so mailboxes can drop repeats', async () => {
    const transport = rig.aTransport()
    for (let attempt = 0; attempt < 2; attempt += 1)
      await transport.send('invite', 'a@example.com', variables, MESSAGE)
    const mails = rig.inbox.messages({ to: 'a@example.com' })
    expect(mails.map(({ headers }) => headers['message-id'])).toEqual(
      [1, 2].map(() => `<${MESSAGE.id}@app.dev>`),
    )
  })

  it('puts no secret into the log when sending fails', async () => {
    rig.inbox.fail({ at: 'message' })
    const failure = await rig
      .aTransport()
      .send('confirmation', 'a@example.com', variables, MESSAGE)
      .catch((error: unknown) => error)
    rig.log.error('request failed', { error: failure })
    expect(rig.lines.join()).not.toMatch(/123456|hash-of-link|token=abc/)
  })
})
