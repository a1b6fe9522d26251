import { describe, expect, it } from '@jest/globals'
import { languages } from '@signet/language'
import { catalogueFaults, unusedKeys } from '@signet/language/checks'
import { RuleError, ruleMessages, type Rule } from '../src/errors/rule-error.js'
import { pageCatalogues, textsIn } from '../src/pages/texts.js'
import { refusalOf } from '../src/portal/refusal.js'
import { aToken } from './support/access-token.js'
import { englishIn, germanBrowser } from './support/german.js'
import { aDelivery, anEndpoint, sent } from './support/portal.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth({ env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' } })
const german = () => germanBrowser(harness.base)

describe('the texts of the pages', () => {
  it('are complete, with the same arguments in every language', () => {
    expect(catalogueFaults(pageCatalogues)).toEqual([])
  })

  it('are all used', () => {
    const composed = [
      'done',
      'delivery.phase',
      'nav',
      'range',
      'reason',
      'recovery.state',
      'rule',
      'tokens',
      'verdict',
    ].map((part) => `portal.${part}.`)
    const source = new URL('../src/', import.meta.url)
    expect(unusedKeys(Object.keys(pageCatalogues.en), source, composed)).toEqual([])
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
    expect(englishIn(text)).toEqual([])
    expect(text).not.toContain('on this computer')
    expect(text).toContain('Darf <bdi>&#60;b&#62;Notizen&#60;/b&#62;</bdi> Ihr Konto nutzen?')
    for (const words of [
      'einer Anwendung auf diesem Computer',
      'Ereignisse Ihrer Aufnahmen lesen',
      '>Ablehnen<',
      '>Erlauben<',
      'Nicht geprüft',
    ])
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

describe('the portal in German', () => {
  const visitor = async () => {
    const browser = german()
    const user = harness.identity.addUser()
    const start = await browser.get('/sign-in')
    await browser.get(harness.identity.answerTo(start.location ?? '', user))
    return { user, browser, open: (below = '') => browser.get(`/portal${below}`) }
  }

  it('has no English left on any page', async () => {
    const visit = await visitor()
    const { browser, open, user } = visit
    const pages = [await open(), await open('/applications'), await open('/tokens')]
    const { id, page } = await anEndpoint(visit)
    const failed = await aDelivery(harness, id, { status: 2, tookMs: 1500 })
    await aDelivery(harness, id, { tookMs: 1500 })
    await oauth.connect(user, { client_name: 'Notizen' })
    const own = `/endpoints/${id}`
    for (const below of [
      '',
      own,
      '/endpoints/new',
      `${own}/delete`,
      `${own}/deliveries`,
      `${own}/deliveries?event_id=evt_${'0'.repeat(32)}`,
      `${own}/deliveries/${failed.id}`,
      `${own}/new-secret`,
      `${own}/recover`,
      '/applications',
      '/events',
      '/signatures',
      '/endpoints/1',
    ])
      pages.push(await open(below))
    const form = await open(`${own}/recover`)
    pages.push(page, await sent(browser, form, '/recover', { hours: '24', what: 'failed' }))
    pages.push(await sent(browser, await open(own), '/rotate', { hours: '24' }), await open(own))
    pages.push(await sent(browser, await open('/tokens'), '/tokens', { name: 'Skript', days: '30' }))
    pages.push(await open('/tokens'), await sent(browser, await open('/tokens'), '/revoke'))
    const pasted = { secret: 'x', headers: 'X-Service-Signature: y', body: '{}' }
    pages.push(await sent(browser, await open('/signatures'), '/signatures', pasted))
    for (const { url, status, text } of pages) {
      expect([url, status < 500, englishIn(text)]).toEqual([url, true, []])
      expect(text).toContain('<html lang="de">')
    }
    expect(pages).toHaveLength(24)
  })

  it('writes numbers and times as its readers do', async () => {
    const visit = await visitor()
    const { id } = await anEndpoint(visit)
    await aDelivery(harness, id, { tookMs: 1500 })
    const { text } = await visit.open(`/endpoints/${id}`)
    expect(text).toContain('50 % innerhalb von <strong>1,5 s</strong>')
    expect(text).toContain('aria-label="Zustellungen nach Stunden: 1 zugestellt, 0 fehlgeschlagen"')
    const log = await visit.open(`/endpoints/${id}/deliveries`)
    expect(log.text).toMatch(/<time datetime="[^"]+Z">\d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d UTC</)
  })

  it.each([
    ['cancelled', 'sie wurde abgebrochen'],
    ['stopped', 'der Webhook wurde deaktiviert oder gelöscht'],
    ['done', 'alle Ereignisse sind eingereiht'],
  ])('says in German how a recovery ended: %s', (state, words) => {
    const over = new RuleError('recovery.over', { kind: 'conflict', values: { state } })
    expect(refusalOf(textsIn('de'), over).message).toBe(`Die Nachsendung ist beendet: ${words}.`)
  })

  it('refuses in German what a page or a rule of the API refuses', async () => {
    const { browser, open, user } = await visitor()
    const token = await sent(browser, await open('/tokens'), '/tokens', { name: 'x', days: '31' })
    expect([token.status, token.text]).toEqual([
      400,
      expect.stringContaining('wie lange das Token gelten soll'),
    ])
    const fields = { url: 'ftp://x.example/', events: 'webhook.ping' }
    const endpoint = await sent(browser, await open('/endpoints/new'), '/portal/endpoints', fields)
    expect([endpoint.status, endpoint.text]).toEqual([
      400,
      expect.stringContaining('Die URL muss mit https:// beginnen.'),
    ])
    expect(endpoint.text).not.toContain('lang="en"')
    const program = await fetch(`${harness.base}/v1/webhooks`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await aToken(harness.db, user.id)}`,
        'content-type': 'application/json',
        'accept-language': 'de',
      },
      body: JSON.stringify({ ...fields, events: [fields.events] }),
    })
    expect(await program.text()).toContain('url must start with https://')
  })

  it('has a text of its own for each rule of the API, with all that the API names', () => {
    const named = (text: string) => [...text.matchAll(/\{(\w+)(?:\}|, select)/g)].map(([, name]) => name)
    for (const [rule, message] of Object.entries(ruleMessages))
      for (const language of languages)
        expect([rule, language, named(pageCatalogues[language][`portal.rule.${rule as Rule}`])]).toEqual([
          rule,
          language,
          named(message),
        ])
  })

  it('is chosen for each page: the same session reads English too', async () => {
    const visit = await visitor()
    expect((await visit.open('/tokens')).text).toContain('Token erstellen')
    const english = await visit.browser.get('/portal/tokens', { 'accept-language': 'en' })
    expect(english.text).toContain('Create token')
    expect(englishIn(english.text)).toContain('Create token')
  })
})
