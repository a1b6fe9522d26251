import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { catalogueFaults, unusedKeys } from '@signet/language/checks'
import request from 'supertest'
import { adminCatalogues } from '../src/admin/pages/texts.js'
import { createApp } from '../src/app.js'
import { readConfig } from '../src/config/read-config.js'
import { OPERATOR_TOKEN, startObserved, type Incident, type Observed } from './support/operator-pages.js'

describe('the texts of the pages for operators', () => {
  it('are complete, with the same arguments in every language', () => {
    expect(catalogueFaults(adminCatalogues)).toEqual([])
  })

  it('are all used', () => {
    const source = new URL('../src/admin/', import.meta.url)
    const composed = ['attempt.phase.', 'found.kind.', 'error.', 'column.']
    expect(unusedKeys(Object.keys(adminCatalogues.en), source, composed)).toEqual([])
  })
})

describe('a page for operators', () => {
  let observed: Observed
  let incident: Incident
  beforeAll(async () => {
    observed = await startObserved()
    incident = await observed.incident('/language')
    await observed.dispatcher.history.sample()
  })
  afterAll(() => observed.stop())

  const get = (path: string, app = observed.app) =>
    request(app).get(path).auth('ada', OPERATOR_TOKEN).set('accept-language', 'de-AT, de;q=0.9')

  it('is in German for who prefers that, and caches are told', async () => {
    const { text, headers } = await get('/admin').expect(200)
    expect(headers).toMatchObject({ 'content-language': 'de', vary: 'Accept-Language' })
    expect(text).toContain('<html lang="de">')
    for (const words of [
      'Fehlschlagende Endpunkte',
      'Alter des ältesten',
      'Suchen',
      'Was Betreiber getan haben',
    ])
      expect(text).toContain(words)
    const event = await get(`/admin/events/${incident.eventId}`).expect(200)
    expect(event.text).toContain('Versuch 2: <code class="bad">http_503</code>')
    expect(event.text).toMatch(/<time datetime="[^"]+Z">\d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d UTC</)
    expect((await get(`/admin/endpoints/${incident.endpoint.id}`)).text).toContain('2 Fehler in Folge')
    expect((await get('/admin/nowhere').expect(404)).text).toContain('Hier ist nichts')
  })

  it('and the queues have the name, color and links of the operator', async () => {
    const branded = {
      ...observed.dispatcher,
      config: readConfig({
        ...observed.dispatcher.env,
        DISPATCHER_BRAND_NAME: 'Müller & Söhne',
        DISPATCHER_BRAND_ACCENT_COLOR: '#005f2f',
        DISPATCHER_BRAND_SUPPORT: 'help@example.com',
      }),
    }
    const app = createApp(branded)
    const page = await get('/admin', app).expect(200)
    for (const part of ['<span>Müller &#38; Söhne</span>', '--accent: #005f2f', 'mailto:help@example.com'])
      expect(page.text).toContain(part)
    const { body: icon } = (await get('/admin/icon', app)) as { body: Buffer }
    expect(icon.toString()).toContain('#005f2f')
    const queues = await get('/queues', app).expect(200)
    for (const part of ['Müller &#38; Söhne', '#005f2f']) expect(queues.text).toContain(part)
  })
})
