import { createAuthority, issueCertificate, startInbox } from '@signet/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { MailerRig, variables } from '../../test/support/mailer.js'
import { META } from '../../test/support/meta.js'
import { authError } from '../errors/auth-error.js'
import { type NoticeKind } from './kinds.js'
import { connectionOptions } from './mailer.js'

let rig: MailerRig
beforeAll(async () => {
  rig = await MailerRig.start()
})
beforeEach(() => rig.reset())
afterEach(() => rig.closeMailers())
afterAll(() => rig.close())

describe('sending (contract 10.4)', () => {
  it('has the sender name, or else the address as name', async () => {
    await rig
      .aMailer({ smtp: rig.smtp({ senderName: 'App "Dev", Inc.' }) })
      .send('invite', 'a@example.com', variables, META)
    await rig.aMailer().send('invite', 'b@example.com', variables, META)
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
        rig.aMailer(config).send('invite', 'a@example.com', variables, META),
      ).rejects.toMatchObject({
        code: 'unexpected_failure',
      })
      await rig.aMailer(config, { smtpCa: authority.cert }).send('invite', 'a@example.com', variables, META)
      expect(strict.messages()).toHaveLength(1)
    } finally {
      await rig.closeMailers()
      await strict.close()
    }
  })

  it.each(['recipient', 'message'] as const)(
    'is a fault of the server when SMTP refuses the %s',
    async (at) => {
      rig.inbox.fail({ at })
      const outcomes: string[] = []
      const mailer = rig.aMailer({}, { observe: (kind, outcome) => outcomes.push(`${kind} ${outcome}`) })
      await expect(mailer.send('invite', 'a@example.com', variables, META)).rejects.toMatchObject({
        kind: 'internal',
        code: 'unexpected_failure',
        message: 'The mail could not be sent',
      })
      rig.inbox.fail(null)
      await mailer.send('invite', 'a@example.com', variables, META)
      expect(outcomes).toEqual(['invite failed', 'invite sent'])
    },
  )

  it('gives up on a server that takes the mail and never answers', async () => {
    rig.inbox.fail({ at: 'hang' })
    const startedAt = performance.now()
    await expect(rig.aMailer().send('invite', 'a@example.com', variables, META)).rejects.toMatchObject({
      code: 'unexpected_failure',
    })
    expect(performance.now() - startedAt).toBeLessThan(9000)
  })

  it('skips and logs while email is not configured', async () => {
    const mailer = rig.aMailer({ smtp: undefined })
    await mailer.send('invite', 'a@example.com', variables, META)
    await mailer.notify('password_changed_notification', 'a@example.com', variables, META)
    expect(rig.lines.filter((line) => line.includes('email is not configured'))).toHaveLength(2)
  })

  it.each([
    ['ann@example.com', true],
    ['ann+label@example.com', true],
    ['ANN@example.com', true],
    ['bob+x@example.com', true],
    ['eve@example.com', false],
  ])('with an allow-list, mail to %s: %s', async (to, allowed) => {
    const mailer = rig.aMailer({ authorizedAddresses: ['Ann@example.com', 'bob+label@example.com'] })
    const sent = mailer.send('invite', to, variables, META)
    if (allowed) await expect(sent).resolves.toBeUndefined()
    else await expect(sent).rejects.toMatchObject({ kind: 'invalid', code: 'email_address_not_authorized' })
    expect(rig.inbox.messages()).toHaveLength(allowed ? 1 : 0)
  })

  it.each([
    [`${'a'.repeat(64)}@example.com`, true],
    [`${'a'.repeat(65)}@example.com`, false],
    [`ann@${'b.'.repeat(125)}c`, false],
    [`ann@${'b.'.repeat(124)}cc`, true],
  ])('of addresses as long as %s: %s (RFC 5321, 4.5.3.1)', (to, deliverable) => {
    const refuse = () => rig.aMailer().refuse(to)
    if (deliverable) expect(refuse).not.toThrow()
    else expect(refuse).toThrow(expect.objectContaining({ kind: 'invalid', code: 'email_address_invalid' }))
  })

  it('asks the quota for every mail and sends nothing beyond it', async () => {
    const refusal = authError('limited', 'over_email_send_rate_limit', 'Email rate limit exceeded')
    const mailer = rig.aMailer({}, { limit: { consume: () => Promise.reject(refusal) } })
    await expect(mailer.send('invite', 'a@example.com', variables, META)).rejects.toBe(refusal)
    await expect(
      mailer.notify('password_changed_notification', 'a@example.com', variables, META),
    ).resolves.toBeUndefined()
    expect(rig.inbox.messages()).toHaveLength(0)
  })

  it('puts no secret into the log when sending fails', async () => {
    rig.inbox.fail({ at: 'message' })
    const failure = await rig
      .aMailer()
      .send('confirmation', 'a@example.com', variables, META)
      .catch((error: unknown) => error)
    rig.log.error('request failed', { error: failure })
    expect(rig.lines.join()).not.toMatch(/123456|hash-of-link|token=abc/)
  })
})

describe('notices (contract 10.1)', () => {
  it('go out only when switched on and somebody is there to get them', async () => {
    const mailer = rig.aMailer({ notices: new Set<NoticeKind>(['password_changed_notification']) })
    await mailer.notify('email_changed_notification', 'a@example.com', variables, META)
    await mailer.notify('password_changed_notification', '', variables, META)
    expect(rig.inbox.messages()).toHaveLength(0)
    await mailer.notify('password_changed_notification', 'a@example.com', variables, META)
    expect(rig.inbox.messages()).toHaveLength(1)
  })

  it('never fail what they report on: the failure is logged', async () => {
    rig.inbox.fail({ at: 'message' })
    await expect(
      rig.aMailer().notify('password_changed_notification', 'a@example.com', variables, META),
    ).resolves.toBeUndefined()
    expect(rig.lines.join()).toContain('a notice could not be sent')
    expect(rig.lines.join()).toContain(`"request_id":"${META.requestId}"`)
  })
})
