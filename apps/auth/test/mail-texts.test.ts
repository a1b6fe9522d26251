import { createServer } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { listenLocally, type LocalServer } from '@signet/testkit'
import { LINK, MailRig, MESSAGE, variables } from './support/mailer.js'
import { mailKinds, noticeKinds, type MailKind, type NoticeKind } from '../src/mail/kinds.js'

let rig: MailRig
beforeAll(async () => {
  rig = await MailRig.start()
})
beforeEach(() => rig.reset())
afterEach(() => rig.closeTransports())
afterAll(() => rig.close())

const SUBJECTS: Record<MailKind | NoticeKind, string> = {
  invite: "You've been invited",
  confirmation: 'Confirm your email address',
  recovery: 'Reset your password',
  magic_link: 'Your sign-in link',
  email_change: 'Confirm your new email address',
  reauthentication: '123456 is your verification code',
  account_exists_notification: 'You already have an account',
  password_changed_notification: 'Your password was changed',
  email_changed_notification: 'Your email address was changed',
  phone_changed_notification: 'Your phone number was changed',
  identity_linked_notification: 'A new sign-in method was linked to your account.',
  identity_unlinked_notification: 'A sign-in method was removed from your account.',
  mfa_factor_enrolled_notification: 'A new verification method was added to your account.',
  mfa_factor_unenrolled_notification: 'A verification method was removed from your account.',
  mfa_recovery_codes_created_notification: 'New recovery codes were created for your account.',
  mfa_recovery_code_used_notification: 'A recovery code was used to sign in to your account.',
  account_deletion_requested_notification: 'Your account will be deleted',
  account_deleted_notification: 'Your account was deleted',
}

const SAYS: Record<NoticeKind, string[]> = {
  account_exists_notification: ['ann@example.com', 'https://id.example/ui/forgot'],
  password_changed_notification: ['ann@example.com'],
  email_changed_notification: ['old@example.com', 'ann@example.com'],
  phone_changed_notification: ['15550100001', '15550100002'],
  identity_linked_notification: ['Signing in with GitHub was linked'],
  identity_unlinked_notification: ['Signing in with GitHub was removed'],
  mfa_factor_enrolled_notification: ['(authenticator app) was added'],
  mfa_factor_unenrolled_notification: ['(authenticator app) was removed'],
  mfa_recovery_codes_created_notification: ['ann@example.com'],
  mfa_recovery_code_used_notification: ['Codes left: 7.'],
  account_deletion_requested_notification: ['1 December 2026 at 09:30 UTC'],
  account_deleted_notification: ['ann@example.com'],
}

describe('the emails', () => {
  it.each(mailKinds)('%s has its subject, the secret and both parts', async (kind) => {
    await rig.aTransport().send(kind, 'to@example.com', variables, MESSAGE)
    const mail = await rig.inbox.waitForMail({ to: 'to@example.com' })
    expect(mail.subject).toBe(SUBJECTS[kind])
    expect(mail.html).toContain('123456')
    expect(mail.text).toContain('123456')
    const links = kind === 'reauthentication' ? [] : [LINK]
    expect(mail.links.filter((link) => link.startsWith('https://id.example'))).toEqual(
      expect.arrayContaining(links),
    )
    expect(mail.text.includes(LINK)).toBe(kind !== 'reauthentication')
  })

  it.each(noticeKinds)('%s has its subject and describes what happened', async (kind) => {
    await rig.aTransport().send(kind, 'to@example.com', variables, MESSAGE)
    const mail = await rig.inbox.waitForMail({ to: 'to@example.com' })
    expect(mail.subject).toBe(SUBJECTS[kind])
    for (const text of SAYS[kind]) {
      expect(mail.html).toContain(text)
      expect(mail.text).toContain(text)
    }
    expect(mail.html).not.toContain('123456')
  })

  it.each([...mailKinds, ...noticeKinds])('%s escapes every value', async (kind) => {
    const values = Object.fromEntries(Object.keys(variables).map((name) => [name, '"><img src=x>']))
    // The date must stay valid, because emails format it themselves.
    const evil = { ...values, deletionDate: variables.deletionDate }
    await rig.aTransport().send(kind, 'to@example.com', evil, MESSAGE)
    const { html } = await rig.inbox.waitForMail({ to: 'to@example.com' })
    expect(html).not.toContain('<img')
    expect(html).not.toMatch(/\{\{/)
  })
})

describe('subjects and templates (docs/specification.md#emails)', () => {
  it('overrides a subject, without escaping and on one line', async () => {
    const subjects = { confirmation: 'Hi {{ .Data.name }},\n{{ .Email }}' }
    await rig.aTransport({ subjects }).send(
      'confirmation',
      'to@example.com',
      {
        ...variables,
        email: 'x\r\nBcc: evil@example.com',
      },
      MESSAGE,
    )
    const mail = await rig.inbox.waitForMail({ to: 'to@example.com' })
    expect(mail.subject).toBe('Hi Ann <script>,xBcc: evil@example.com')
    expect(mail.to).toEqual(['to@example.com'])
    expect(mail.headers).not.toHaveProperty('bcc')
  })

  it('keeps the default subject when the override is invalid, and logs it', async () => {
    await rig
      .aTransport({ subjects: { invite: '{{ if x }}' } })
      .send('invite', 'to@example.com', variables, MESSAGE)
    expect((await rig.inbox.waitForMail({ to: 'to@example.com' })).subject).toBe(SUBJECTS.invite)
    expect(rig.lines.join()).toContain('an email subject cannot be used')
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
    let site: LocalServer
    let origin: string
    beforeAll(async () => {
      site = await listenLocally(server)
      origin = site.origin
    })
    afterAll(() => site.close())

    it('fills in the variables, escaped', async () => {
      const transport = rig.aTransport({ templates: { confirmation: `${origin}/mail.html` } })
      await transport.send('confirmation', 'to@example.com', variables, MESSAGE)
      const { html } = await rig.inbox.waitForMail({ to: 'to@example.com' })
      expect(html.trim()).toBe(
        `<p>Ann &lt;script&gt;: <a href="${LINK.replaceAll('&', '&amp;')}">hash-of-link</a> https://app.dev/welcome</p>`,
      )
    })

    it('is resolved against the site when it is a path', async () => {
      await rig
        .aTransport({ siteUrl: `${origin}/app`, templates: { invite: '/mails/invite.html' } })
        .send('invite', 'to@example.com', variables, MESSAGE)
      expect(paths).toContain('/app/mails/invite.html')
      expect((await rig.inbox.waitForMail({ to: 'to@example.com' })).html).toContain('hash-of-link')
    })

    it('falls back to the built-in body when it cannot be fetched; the email is still sent', async () => {
      const transport = rig.aTransport({ templates: { recovery: `${origin}/gone.html` } })
      await transport.send('recovery', 'to@example.com', variables, MESSAGE)
      expect((await rig.inbox.waitForMail({ to: 'to@example.com' })).html).toContain(
        'Reset your password</h1>',
      )
      expect(rig.lines.join()).toContain('an email template could not be loaded')
    })
  })
})
