import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { catalogueFaults, unusedKeys } from '@signet/language/checks'
import { uiCatalogues } from '../../src/ui/texts.js'
import { anEmail, aUser } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { aBrowser, APPLICATION, noticeOf, settle, startUi, submitted, uiPath } from './support.js'

const GERMAN = { 'accept-language': 'de-AT, de;q=0.9, en;q=0.5' }

let server: TestServer
beforeAll(async () => {
  server = await startUi()
})
afterAll(() => server.close())

describe('the texts of the pages', () => {
  it('are complete, with the same arguments in every language', () => {
    expect(catalogueFaults(uiCatalogues)).toEqual([])
  })

  it('are all used', () => {
    const source = new URL('../../src/ui/', import.meta.url)
    const composed = ['refusal.', 'error.title.', 'me.activity.', 'me.done.']
    const ofOperators = ['op.done.', 'op.ban.for.', 'op.audit.in.']
    expect(unusedKeys(Object.keys(uiCatalogues.en), source, [...composed, ...ofOperators])).toEqual([])
  })
})

describe('the language of a page', () => {
  it('is what the browser prefers, and caches are told', async () => {
    const response = await fetch(`${server.url}/ui`, { headers: { ...GERMAN, accept: 'text/html' } })
    expect(response.headers.get('content-language')).toBe('de')
    expect(response.headers.get('vary')).toContain('Accept-Language')
    const page = await response.text()
    expect(page).toContain('<html lang="de">')
    expect(page).toContain('<h1>Anmelden</h1>')
    expect(page).toContain('data-show="Passwort anzeigen"')
  })

  it('is what the application asks for with ui_locales, on every page that follows', async () => {
    const browser = aBrowser(server)
    const { email } = await aUser(server)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION, ui_locales: 'fr de-DE' }))
    expect(page.text).toContain('Anmelden')
    const refused = await browser.submit(page, '/ui/sign-in', { identifier: email, password: 'wrong' })
    expect(noticeOf(refused)).toContain('Die Adresse oder das Passwort ist falsch.')
    const forgot = await browser.get(
      /href="([^"]*\/forgot[^"]*)"/.exec(refused.text)?.[1]?.replaceAll('&#38;', '&') ?? '',
    )
    const waiting = await submitted(browser, forgot, '/ui/forgot', { email })
    expect(waiting.text).toContain('Sehen Sie in Ihr Postfach')
    expect(waiting.text).toContain('Erneut senden (in 15 Minuten)')
  })

  it('is also that of errors', async () => {
    const browser = aBrowser(server, GERMAN)
    expect((await browser.get('/ui/nowhere')).text).toContain('Unter dieser Adresse gibt es nichts.')
    const foreign = await browser.post('/ui/sign-in', { ui_locales: 'en' })
    expect(foreign.text).toContain('This form did not come from a page open in this browser.')
    expect((await browser.post('/ui/sign-in', {})).text).toContain(
      'Dieses Formular kam nicht von einer Seite',
    )
  })

  it('reaches what is said of an address with a mistake in it, at its field', async () => {
    for (const [headers, words] of [
      [GERMAN, 'Das ist keine vollständige E-Mail-Adresse.'],
      [{}, 'This is not a complete email address.'],
    ] as const) {
      const browser = aBrowser(server)
      const page = await browser.get('/ui/sign-up', headers)
      const typed = { identifier: 'a@b..de', password: 'correct horse battery' }
      const answer = await settle(browser, await browser.submit(page, '/ui/sign-up', typed, headers))
      expect(noticeOf(answer)).toContain(words)
      expect(/<input[^>]*name="identifier"[^>]*>/.exec(answer.text)?.[0]).toContain('aria-invalid="true"')
    }
  })

  it('reaches what is said of a password that is too long, at its field', async () => {
    for (const [headers, words] of [
      [GERMAN, 'Dieses Passwort ist zu lang.'],
      [{}, 'This password is too long.'],
    ] as const) {
      const browser = aBrowser(server)
      const page = await browser.get('/ui/sign-up', headers)
      const typed = { identifier: anEmail(), password: 'x'.repeat(73) }
      const answer = await browser.submit(page, '/ui/sign-up', typed, headers)
      expect(answer.status).toBe(400)
      expect(noticeOf(answer)).toContain(words)
      expect(/<input[^>]*aria-invalid="true"[^>]*>/.exec(answer.text)?.[0]).toContain('name="password"')
    }
  })

  it('reaches refusals that the API words in English', async () => {
    const browser = aBrowser(server, GERMAN)
    const sent = await browser.submit(await browser.get('/ui/sign-up'), '/ui/sign-up', {
      identifier: anEmail(),
      password: 'short',
    })
    const page = await settle(browser, sent)
    expect(noticeOf(page)).toBe('Dieses Passwort ist zu kurz.')
  })
})
