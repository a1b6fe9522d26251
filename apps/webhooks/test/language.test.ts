import { describe, expect, it } from '@jest/globals'
import { catalogueFaults, unusedKeys } from '@signet/language/checks'
import { pageCatalogues } from '../src/pages/texts.js'
import { FormBrowser } from './support/browser.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()
const german = () => new FormBrowser(harness.base, { 'accept-language': 'de-AT, de;q=0.9, en;q=0.5' })

describe('the texts of the pages', () => {
  it('are complete, with the same arguments in every language', () => {
    expect(catalogueFaults(pageCatalogues)).toEqual([])
  })

  it('are all used', () => {
    expect(unusedKeys(Object.keys(pageCatalogues.en), new URL('../src/', import.meta.url))).toEqual([])
  })
})

describe('the language of a page', () => {
  it('is what the browser prefers, and caches are told', async () => {
    const { text, headers } = await german().get('/')
    expect([headers.get('content-language'), headers.get('vary')]).toEqual([
      'de',
      expect.stringContaining('Accept-Language'),
    ])
    expect(text).toContain('<html lang="de">')
    expect(text).toContain('Verbindet Anwendungen mit Ihrem Konto')
  })

  it('is that of the consent page, whose names stay text', async () => {
    const name = '<b>Notizen</b>'
    const browser = german()
    const { client_id } = await oauth.client({ client_name: name })
    const start = await browser.get(oauth.authorizeUrl(client_id))
    const back = await browser.get(
      harness.identity.answerTo(start.location ?? '', harness.identity.addUser()),
    )
    const { text } = await browser.follow(back)
    expect(text).toContain('Darf <bdi>&#60;b&#62;Notizen&#60;/b&#62;</bdi> Ihr Konto nutzen?')
    for (const words of ['Ereignisse Ihrer Aufnahmen lesen', '>Ablehnen<', '>Erlauben<', 'Nicht geprüft'])
      expect(text).toContain(words)
  })

  it('is that of errors, but programs get English', async () => {
    const page = await german().get('/nowhere')
    expect(page.text).toContain('<h1>Hier ist nichts</h1>')
    expect(page.text).toContain('Unter dieser Adresse gibt es nichts.')
    const program = await german().get('/v1/webhooks', { accept: 'application/json' })
    expect([program.status, program.text]).toEqual([401, expect.not.stringMatching(/nicht|keine/)])
  })
})
