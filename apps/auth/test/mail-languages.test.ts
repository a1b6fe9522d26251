import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SIGNET } from '@signet/brand'
import { languages } from '@signet/language'
import { mailCatalogues } from '../src/mail/contents.js'
import { mailKinds, noticeKinds } from '../src/mail/kinds.js'
import { MailRenderer } from '../src/mail/mail-renderer.js'
import { createOutbound } from '../src/outbound/outbound.js'
import { anEmail, aUser, mailTo, PASSWORD, post } from './support/api.js'
import { MESSAGE, variables } from './support/mailer.js'
import { startServer, type TestServer } from './support/server.js'
import { anObserver } from './support/observer.js'

const PNG = Buffer.from('iVBORw0KGgo=', 'base64')
const BRAND = {
  ...SIGNET,
  name: 'Müller & Söhne',
  logo: { type: 'image/png', bytes: PNG } as const,
  support: 'help@example.com',
  termsUrl: 'https://example.com/terms?a=1&b=2',
}

describe('the texts of emails', () => {
  it('are complete, with the same variables in every language', () => {
    const variablesOf = (messages: Readonly<Record<string, string>>) =>
      Object.entries(messages).map(([key, text]) => [
        key,
        [...new Set(text.match(/\{\{ \.\w+ \}\}/g))].sort(),
      ])
    expect(variablesOf(mailCatalogues.de)).toEqual(variablesOf(mailCatalogues.en))
  })

  const outbound = createOutbound({ allowPrivateUrls: false })
  afterAll(() => outbound.close())
  const renderer = new MailRenderer({
    config: { siteUrl: 'https://app.dev', brand: BRAND, secretMs: 86_400_000, subjects: {}, templates: {} },
    outbound,
    observer: anObserver(),
  })
  const cases = [...mailKinds, ...noticeKinds].flatMap((kind) =>
    languages.map((language) => [kind, language] as const),
  )

  it.each(cases)(
    '%s (%s) is whole: nothing is missing, and its text reads as well',
    async (kind, language) => {
      const mail = await renderer.render(kind, variables, { origin: { ...MESSAGE.origin, language } })
      const { subject, html, text = '', attachments = [] } = mail
      expect(html).toContain(`<html lang="${language}">`)
      expect(subject + text).not.toMatch(/\{\{|undefined|&#?\w+;|<\w/)
      // There is no gap where a variable should be.
      expect(text).not.toMatch(/ {2}|\(\)| [.,]/m)
      // There is no date in a format for machines.
      expect(text).not.toMatch(/\d{4}-\d\d-\d\d/)
      expect(text).toMatch(/^Müller & Söhne\n/)
      expect(html).toContain('Müller &#38; Söhne')
      expect(text).toContain('https://example.com/terms?a=1&b=2')
      expect(attachments).toEqual([expect.objectContaining({ cid: 'logo@brand', content: PNG })])
      const isSecret = mailKinds.some((secret) => secret === kind)
      if (isSecret) expect(text).toContain(language === 'de' ? '1 Tag lang gültig' : 'within 1 day')
      if (kind === 'invite') expect(text).not.toContain('203.0.113.7')
      else
        expect(text).toContain(
          language === 'de'
            ? '4. März 2026 um 05:06 UTC, 203.0.113.7, Chrome auf Windows'
            : '4 March 2026 at 05:06 UTC, 203.0.113.7, Chrome on Windows',
        )
    },
  )

  it('say of what administrators did only when it was', async () => {
    const origin = { ...MESSAGE.origin, route: '/admin/users/:id' }
    const { text } = await renderer.render('password_changed_notification', variables, { origin })
    expect(text).toContain('When and where: 4 March 2026 at 05:06 UTC\n')
  })
})

describe('the language of an email', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())
  const german = { 'accept-language': 'de-DE,de;q=0.9' }

  it('is that of the request, also where the request was answered before its work was done', async () => {
    const email = anEmail()
    await post(server, '/signup', { email, password: PASSWORD }, { headers: german })
    const { mail } = await mailTo(server, email)
    expect(mail.subject).toBe('Bestätigen Sie Ihre E-Mail-Adresse')
    expect(mail.text).toContain('Link und Code funktionieren einmal')
  })

  it('is what the account says, if it says one', async () => {
    const { email } = await aUser(server, { data: { locale: 'de-AT' } })
    server.clock.advance(900_000)
    const before = (await mailTo(server, email)).mail
    await post(server, '/recover', { email }, { headers: { 'accept-language': 'en' } })
    expect((await mailTo(server, email, before)).mail.subject).toBe('Setzen Sie Ihr Passwort zurück')
  })
})
