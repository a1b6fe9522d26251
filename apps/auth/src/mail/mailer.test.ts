import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { createLogger } from '@signet/telemetry'
import { createAuthority, issueCertificate, startInbox, type Inbox } from '@signet/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { authError } from '../errors/auth-error.js'
import { createOutbound } from '../outbound/outbound.js'
import { mailKinds, noticeKinds, type MailKind, type MailVariables, type NoticeKind } from './kinds.js'
import { connectionOptions, createMailer, type MailConfig, type Mailer, type SmtpConfig } from './mailer.js'

const LINK = 'https://id.example/verify?token=abc&type=signup&redirect_to=https%3A%2F%2Fapp.dev'
const variables: MailVariables = {
  email: 'ann@example.com',
  confirmationUrl: LINK,
  token: '123456',
  tokenHash: 'hash-of-link',
  redirectTo: 'https://app.dev/welcome',
  newEmail: 'new@example.com',
  oldEmail: 'old@example.com',
  sendingTo: 'new@example.com',
  phone: '15550100001',
  oldPhone: '15550100002',
  provider: 'github',
  factorType: 'totp',
  data: { name: 'Ann <script>' },
}

let inbox: Inbox
let lines: string[] = []
const outbound = createOutbound({ allowPrivateUrls: true })
const log = createLogger({ level: 'debug', component: 'test', sink: (line) => lines.push(line) })
const mailers: Mailer[] = []

beforeAll(async () => {
  inbox = await startInbox()
})
beforeEach(() => {
  inbox.clear()
  inbox.fail(null)
  lines = []
})
afterEach(async () => {
  await Promise.all(mailers.splice(0).map((mailer) => mailer.close()))
})
afterAll(async () => {
  await inbox.close()
  await outbound.close()
})

const smtp = (overrides: Partial<SmtpConfig> = {}): SmtpConfig => ({
  host: '127.0.0.1',
  port: inbox.smtpPort,
  adminEmail: 'no-reply@app.dev',
  ...overrides,
})

function aMailer(
  config: Partial<MailConfig> = {},
  deps: Partial<Parameters<typeof createMailer>[0]> = {},
): Mailer {
  const full: MailConfig = {
    siteUrl: 'https://app.dev',
    smtp: smtp(),
    subjects: {},
    templates: {},
    notices: new Set(noticeKinds),
    authorizedAddresses: [],
    ...config,
  }
  const mailer = createMailer({
    config: full,
    outbound,
    log,
    limit: { consume: () => Promise.resolve() },
    ...deps,
  })
  mailers.push(mailer)
  return mailer
}

const SUBJECTS: Record<MailKind | NoticeKind, string> = {
  invite: "You've been invited",
  confirmation: 'Confirm your email address',
  recovery: 'Reset your password',
  magic_link: 'Your sign-in link',
  email_change: 'Confirm your new email address',
  reauthentication: '123456 is your verification code',
  password_changed_notification: 'Your password was changed',
  email_changed_notification: 'Your email address was changed',
  phone_changed_notification: 'Your phone number was changed',
  identity_linked_notification: 'A new sign-in method was linked to your account.',
  identity_unlinked_notification: 'A sign-in method was removed from your account.',
  mfa_factor_enrolled_notification: 'A new verification method was added to your account.',
  mfa_factor_unenrolled_notification: 'A verification method was removed from your account.',
}

const SAYS: Record<NoticeKind, string[]> = {
  password_changed_notification: ['ann@example.com'],
  email_changed_notification: ['old@example.com', 'ann@example.com'],
  phone_changed_notification: ['15550100001', '15550100002'],
  identity_linked_notification: ['github'],
  identity_unlinked_notification: ['github'],
  mfa_factor_enrolled_notification: ['totp'],
  mfa_factor_unenrolled_notification: ['totp'],
}

describe('the thirteen mails (contract 10.1)', () => {
  it.each(mailKinds)('%s has its subject, the secret and both parts', async (kind) => {
    await aMailer().send(kind, 'to@example.com', variables)
    const mail = await inbox.waitForMail({ to: 'to@example.com' })
    expect(mail.subject).toBe(SUBJECTS[kind])
    expect(mail.html).toContain('123456')
    expect(mail.text).toContain('123456')
    const links = kind === 'reauthentication' ? [] : [LINK]
    expect(mail.links.filter((link) => link.startsWith('https://id.example'))).toEqual(
      expect.arrayContaining(links),
    )
    expect(mail.text.includes(LINK)).toBe(kind !== 'reauthentication')
  })

  it.each(noticeKinds)('%s has its subject and says what happened', async (kind) => {
    await aMailer().notify(kind, 'to@example.com', variables)
    const mail = await inbox.waitForMail({ to: 'to@example.com' })
    expect(mail.subject).toBe(SUBJECTS[kind])
    for (const text of SAYS[kind]) {
      expect(mail.html).toContain(text)
      expect(mail.text).toContain(text)
    }
    expect(mail.html).not.toContain('123456')
  })

  it.each([...mailKinds, ...noticeKinds])('%s lets no value add markup', async (kind) => {
    const evil = Object.fromEntries(Object.keys(variables).map((name) => [name, '"><img src=x>']))
    const mailer = aMailer()
    await (kind.endsWith('_notification')
      ? mailer.notify(kind as NoticeKind, 'to@example.com', evil)
      : mailer.send(kind as MailKind, 'to@example.com', evil))
    const { html } = await inbox.waitForMail({ to: 'to@example.com' })
    expect(html).not.toContain('<img')
    expect(html).not.toMatch(/\{\{/)
  })
})

describe('subjects and templates (contract 10.3)', () => {
  it('overrides a subject, without escaping and on one line', async () => {
    const subjects = { confirmation: 'Hi {{ .Data.name }},\n{{ .Email }}' }
    await aMailer({ subjects }).send('confirmation', 'to@example.com', {
      ...variables,
      email: 'x\r\nBcc: evil@example.com',
    })
    const mail = await inbox.waitForMail({ to: 'to@example.com' })
    expect(mail.subject).toBe('Hi Ann <script>,xBcc: evil@example.com')
    expect(mail.to).toEqual(['to@example.com'])
    expect(mail.headers).not.toHaveProperty('bcc')
  })

  it('keeps the default subject when the override cannot be read, and logs', async () => {
    await aMailer({ subjects: { invite: '{{ if x }}' } }).send('invite', 'to@example.com', variables)
    expect((await inbox.waitForMail({ to: 'to@example.com' })).subject).toBe(SUBJECTS.invite)
    expect(lines.join()).toContain('a mail subject cannot be used')
  })

  describe('fetched by URL', () => {
    const paths: string[] = []
    const server = createServer((req, res) => {
      paths.push(req.url ?? '')
      if (req.url === '/gone.html') res.writeHead(404).end()
      else
        res.end(
          '<p>{{ .Data.name }}: <a href="{{ .ConfirmationURL }}">{{ .TokenHash }}</a> {{ .RedirectTo }}</p>',
        )
    })
    let origin: string
    beforeAll(async () => {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    })
    afterAll(() => {
      server.closeAllConnections()
      server.close()
    })

    it('fills in the variables, escaped', async () => {
      const mailer = aMailer({ templates: { confirmation: `${origin}/mail.html` } })
      await mailer.send('confirmation', 'to@example.com', variables)
      const { html } = await inbox.waitForMail({ to: 'to@example.com' })
      expect(html.trim()).toBe(
        `<p>Ann &lt;script&gt;: <a href="${LINK.replaceAll('&', '&amp;')}">hash-of-link</a> https://app.dev/welcome</p>`,
      )
    })

    it('is looked for below the site when it is a path', async () => {
      await aMailer({ siteUrl: `${origin}/app`, templates: { invite: '/mails/invite.html' } }).send(
        'invite',
        'to@example.com',
        variables,
      )
      expect(paths).toContain('/app/mails/invite.html')
      expect((await inbox.waitForMail({ to: 'to@example.com' })).html).toContain('hash-of-link')
    })

    it('falls back to the built-in body when it cannot be had; the mail goes out all the same', async () => {
      const mailer = aMailer({ templates: { recovery: `${origin}/gone.html` } })
      await mailer.send('recovery', 'to@example.com', variables)
      expect((await inbox.waitForMail({ to: 'to@example.com' })).html).toContain('Reset your password</h1>')
      expect(lines.join()).toContain('a mail template could not be loaded')
    })
  })
})

describe('sending (contract 10.4)', () => {
  it('has the sender name, or else the address as name', async () => {
    await aMailer({ smtp: smtp({ senderName: 'App "Dev", Inc.' }) }).send(
      'invite',
      'a@example.com',
      variables,
    )
    await aMailer().send('invite', 'b@example.com', variables)
    expect((await inbox.waitForMail({ to: 'a@example.com' })).sender).toContain('App "Dev", Inc.')
    const mail = await inbox.waitForMail({ to: 'b@example.com' })
    expect(mail.sender).toMatch(/^(no-reply@app\.dev )?<?no-reply@app\.dev>?$/)
    expect(mail.from).toBe('no-reply@app.dev')
  })

  it('speaks TLS from the start on port 465 only, and signs in only with a user', () => {
    expect(connectionOptions(smtp({ port: 465 }))).toMatchObject({ secure: true })
    expect(connectionOptions(smtp({ port: 587, user: 'u', pass: 'p' }))).toMatchObject({
      secure: false,
      auth: { user: 'u', pass: 'p' },
    })
    expect(connectionOptions(smtp({ pass: 'p' }))).not.toHaveProperty('auth')
  })

  it('uses STARTTLS when it is offered, checks the certificate and signs in', async () => {
    const authority = await createAuthority()
    const credentials = { user: 'u', pass: 'p' }
    const strict = await startInbox({ tls: await issueCertificate(authority), credentials })
    const config = { smtp: smtp({ host: 'localhost', port: strict.smtpPort, ...credentials }) }
    try {
      await expect(aMailer(config).send('invite', 'a@example.com', variables)).rejects.toMatchObject({
        code: 'unexpected_failure',
      })
      await aMailer(config, { smtpCa: authority.cert }).send('invite', 'a@example.com', variables)
      expect(strict.messages()).toHaveLength(1)
    } finally {
      await Promise.all(mailers.splice(0).map((mailer) => mailer.close()))
      await strict.close()
    }
  })

  it.each(['recipient', 'message'] as const)(
    'is a fault of the server when SMTP refuses the %s',
    async (at) => {
      inbox.fail({ at })
      const outcomes: string[] = []
      const mailer = aMailer({}, { observe: (kind, outcome) => outcomes.push(`${kind} ${outcome}`) })
      await expect(mailer.send('invite', 'a@example.com', variables)).rejects.toMatchObject({
        kind: 'internal',
        code: 'unexpected_failure',
        message: 'The mail could not be sent',
      })
      inbox.fail(null)
      await mailer.send('invite', 'a@example.com', variables)
      expect(outcomes).toEqual(['invite failed', 'invite sent'])
    },
  )

  it('gives up on a server that takes the mail and never answers', async () => {
    inbox.fail({ at: 'hang' })
    const startedAt = performance.now()
    await expect(aMailer().send('invite', 'a@example.com', variables)).rejects.toMatchObject({
      code: 'unexpected_failure',
    })
    expect(performance.now() - startedAt).toBeLessThan(9000)
  })

  it('skips and logs while email is not configured', async () => {
    const mailer = aMailer({ smtp: undefined })
    await mailer.send('invite', 'a@example.com', variables)
    await mailer.notify('password_changed_notification', 'a@example.com', variables)
    expect(lines.filter((line) => line.includes('email is not configured'))).toHaveLength(2)
  })

  it.each([
    ['ann@example.com', true],
    ['ann+label@example.com', true],
    ['ANN@example.com', true],
    ['bob+x@example.com', true],
    ['eve@example.com', false],
  ])('with an allow-list, mail to %s: %s', async (to, allowed) => {
    const mailer = aMailer({ authorizedAddresses: ['Ann@example.com', 'bob+label@example.com'] })
    const sent = mailer.send('invite', to, variables)
    if (allowed) await expect(sent).resolves.toBeUndefined()
    else await expect(sent).rejects.toMatchObject({ kind: 'invalid', code: 'email_address_not_authorized' })
    expect(inbox.messages()).toHaveLength(allowed ? 1 : 0)
  })

  it('asks the quota for every mail and sends nothing beyond it', async () => {
    const refusal = authError('limited', 'over_email_send_rate_limit', 'Email rate limit exceeded')
    const mailer = aMailer({}, { limit: { consume: () => Promise.reject(refusal) } })
    await expect(mailer.send('invite', 'a@example.com', variables)).rejects.toBe(refusal)
    await expect(
      mailer.notify('password_changed_notification', 'a@example.com', variables),
    ).resolves.toBeUndefined()
    expect(inbox.messages()).toHaveLength(0)
  })

  it('puts no secret into the log when sending fails', async () => {
    inbox.fail({ at: 'message' })
    const failure = await aMailer()
      .send('confirmation', 'a@example.com', variables)
      .catch((error: unknown) => error)
    log.error('request failed', { error: failure })
    expect(lines.join()).not.toMatch(/123456|hash-of-link|token=abc/)
  })
})

describe('notices (contract 10.1)', () => {
  it('go out only when switched on and somebody is there to get them', async () => {
    const mailer = aMailer({ notices: new Set<NoticeKind>(['password_changed_notification']) })
    await mailer.notify('email_changed_notification', 'a@example.com', variables)
    await mailer.notify('password_changed_notification', '', variables)
    expect(inbox.messages()).toHaveLength(0)
    await mailer.notify('password_changed_notification', 'a@example.com', variables)
    expect(inbox.messages()).toHaveLength(1)
  })

  it('never fail what they report on: the failure is logged', async () => {
    inbox.fail({ at: 'message' })
    await expect(
      aMailer().notify('password_changed_notification', 'a@example.com', variables),
    ).resolves.toBeUndefined()
    expect(lines.join()).toContain('a notice could not be sent')
  })
})
