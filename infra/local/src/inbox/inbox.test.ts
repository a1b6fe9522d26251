import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Inbox, startInbox } from '@signet/testkit/inbox'
import { createTransport } from 'nodemailer'
import { createAuthority, issueCertificate } from '../certificate.js'
import { serve } from '../web-server.js'
import { inboxRoutes } from './inbox-pages.js'
import type { Mail } from './mail.js'

describe('inbox', () => {
  let inbox: Inbox
  beforeEach(async () => {
    inbox = await startInbox()
  })
  afterEach(() => inbox.close())

  const send = (to: string, subject: string, html = '<p>Hi</p>'): Promise<unknown> =>
    createTransport({ host: '127.0.0.1', port: inbox.smtpPort }).sendMail({
      from: 'Signet <no-reply@signet.test>',
      to,
      subject,
      html,
    })

  it('keeps what arrives and reads sender, recipients, subject and links', async () => {
    await send('Ana@example.test', 'Größe ✓', '<a href="http://x.test/verify?a=1&amp;b=2">go</a>')
    const mail = await inbox.waitForMail({ to: 'ana@example.test' })
    expect(mail).toMatchObject({
      from: 'no-reply@signet.test',
      sender: 'Signet <no-reply@signet.test>',
      subject: 'Größe ✓',
      links: ['http://x.test/verify?a=1&b=2'],
    })
  })

  it('waits for the email that matches and comes after another', async () => {
    await send('ana@example.test', 'First')
    const first = await inbox.waitForMail({ to: 'ana@example.test', subject: 'First' })
    const later = inbox.waitForMail({ to: 'ana@example.test', after: first })
    await send('bob@example.test', 'Other')
    await send('ana@example.test', 'Second')
    expect((await later).subject).toBe('Second')
  })

  it('says what the inbox holds when the email never comes', async () => {
    await send('ana@example.test', 'First')
    await expect(inbox.waitForMail({ to: 'bob@example.test', timeoutMs: 50 })).rejects.toThrow(
      'waited 50 ms for an email to bob@example.test; the inbox holds "First" to ana@example.test',
    )
  })

  describe('over HTTP', () => {
    let pages: Awaited<ReturnType<typeof serve>>
    beforeEach(async () => {
      pages = await serve(inboxRoutes(inbox))
    })
    afterEach(() => pages.close())

    it('lists emails', async () => {
      await send('ana@example.test', 'One')
      await send('bob@example.test', 'Two')
      const list = async (query = ''): Promise<string[]> => {
        const response = await fetch(`${pages.url}/api/messages${query}`)
        return ((await response.json()) as { items: Mail[] }).items.map((mail) => mail.subject)
      }
      expect(await list()).toEqual(['Two', 'One'])
      expect(await list('?to=ana@example.test')).toEqual(['One'])
    })

    it('shows an email as a document that may run no script', async () => {
      await send('ana@example.test', 'One', '<p>Hello</p><script>alert(1)</script>')
      const mail = await inbox.waitForMail({})
      const response = await fetch(`${pages.url}/messages/${mail.id}.html`)
      expect(response.headers.get('content-security-policy')).toMatch(
        /^sandbox allow-popups .*default-src 'none'/,
      )
      expect(await response.text()).toContain('<p>Hello</p>')
      expect(await (await fetch(pages.url)).text()).toContain('<title>Inbox</title>')
    })
  })

  it('refuses recipients or messages on demand, until healed', async () => {
    inbox.fail({ at: 'recipient', to: (address) => address.startsWith('gone@') })
    await expect(send('gone@example.test', 'x')).rejects.toMatchObject({
      responseCode: 550,
      command: 'RCPT TO',
    })
    await send('here@example.test', 'x')
    inbox.fail({ at: 'message', code: 451 })
    await expect(send('here@example.test', 'x')).rejects.toMatchObject({ responseCode: 451, command: 'DATA' })
    inbox.fail(null)
    await send('here@example.test', 'x')
    expect(inbox.messages()).toHaveLength(2)
  })

  it('offers STARTTLS with a certificate of the local authority and asks for credentials', async () => {
    const authority = await createAuthority()
    const strict = await startInbox({
      tls: await issueCertificate(authority),
      credentials: { user: 'u', pass: 'p' },
    })
    const transport = (pass: string) =>
      createTransport({
        host: 'localhost',
        port: strict.smtpPort,
        requireTLS: true,
        tls: { ca: authority.cert },
        auth: { user: 'u', pass },
      })
    const mail = { from: 'a@example.test', to: 'b@example.test', subject: 'secret' }
    try {
      await expect(transport('wrong').sendMail(mail)).rejects.toMatchObject({ code: 'EAUTH' })
      await transport('p').sendMail(mail)
      expect(strict.messages()).toHaveLength(1)
    } finally {
      await strict.close()
    }
  })
})
