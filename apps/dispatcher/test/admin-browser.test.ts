import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { listen, type Listener } from '@signet/http'
import { SIGNET } from '@signet/brand'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import {
  addressesOf,
  faultsInLooks,
  faultsOfPages,
  LANGUAGES,
  LOOKS,
  needsOfScript,
} from '@signet/testkit/page-walk'
import { adminPages } from '../src/admin/admin-routes.js'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { OPERATOR_TOKEN, startObserved, type Incident, type Observed } from './support/operator-pages.js'

const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url))
/** PICTURES=<folder> saves a screenshot of each page there, for people to look at. */
const pictures = process.env['PICTURES']
/** Findings in what Bull Board's script renders (docs/operator-pages.md): icon buttons without names, a logo beside its own name. */
const FOREIGN = /^[^:]+: (button-name|image-redundant-alt): /
const LAPTOP = { width: 1100, height: 760 }

describeInBrowser('the pages for operators in Chromium', () => {
  let observed: Observed
  let incident: Incident
  let listener: Listener
  let base: string
  let browser: Chromium
  let context: BrowserContext
  beforeAll(async () => {
    observed = await startObserved()
    incident = await observed.incident('/browser', `{"error":"${'the disk is full '.repeat(12)}"}`)
    await observed.incident(`/${'long'.repeat(60)}`)
    await observed.dispatcher.db.query(
      'update webhook_endpoints set status = 2, disabled_at = now() where id <> $1',
      [incident.endpoint.id],
    )
    for (let minute = 0; minute < 3; minute += 1) await observed.dispatcher.history.sample()
    listener = await listen(observed.app, { port: 0, host: '127.0.0.1' })
    base = `http://127.0.0.1:${listener.port}`
    browser = await launchChromium()
  })
  afterEach(() => context.close())
  afterAll(async () => {
    await browser.close()
    await listener.close(0)
    await observed.stop()
  })

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    context = await browser.newContext({
      viewport: LAPTOP,
      httpCredentials: { username: 'ada', password: OPERATOR_TOKEN },
      ...options,
    })
    const page = await context.newPage()
    await page.goto(`${base}${path}`)
    return page
  }

  /** README_PICTURES=1 replaces the picture in docs/images. */
  async function take(page: Page, name: string): Promise<void> {
    if (process.env['README_PICTURES'] === '1') await page.screenshot({ path: `${IMAGES}${name}.png` })
  }

  it('lead from an event id to what the receiver answered, by the keyboard alone and without script', async () => {
    const page = await open('/admin', { javaScriptEnabled: false })
    await page.focus('[name=q]')
    await page.keyboard.type(incident.eventId)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${base}/admin/events/${incident.eventId}`)
    expect(await page.textContent('main')).toContain('the disk is full')
    await take(page, 'event-page')
    await page.click(`.scroll >> text="${incident.delivery.id}"`)
    expect(await page.textContent('h1')).toBe(`Delivery ${incident.delivery.id}`)
  })

  it('show the overview', async () => {
    const page = await open('/admin')
    expect(await page.textContent('main')).toContain('Failing endpoints')
    await take(page, 'overview-page')
  })

  it('keep the queue dashboard to this server: no font, no script and no word from or to another', async () => {
    const page = await open('/admin')
    const elsewhere: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(base) && !request.url().startsWith('data:')) elsewhere.push(request.url())
    })
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    await page.goto(`${base}/queues`)
    await page.waitForSelector('a[href$="/queue/deliveries"]')
    await page.waitForLoadState('networkidle')
    await take(page, 'queues')
    expect([elsewhere, complaints]).toEqual([[], []])
  })

  /** Every page in the route table, and the pages for refusals. */
  const paths = () => [
    ...addressesOf(
      adminPages({ ...observed.dispatcher, brand: SIGNET }).map(({ path }) => `/admin${path}`),
      {
        'events/:id': incident.eventId,
        'deliveries/:id': incident.delivery.id,
        'endpoints/:id': incident.endpoint.id,
        'accounts/:id': incident.subscriber.accountId,
      },
    ),
    '/admin/search?q=1',
    '/admin/nowhere',
  ]
  const OPERATOR = { httpCredentials: { username: 'ada', password: OPERATOR_TOKEN } }

  it('work without a script', async () => {
    context = await browser.newContext()
    expect(await needsOfScript(browser, { base, paths: paths(), context: OPERATOR })).toEqual([])
  })

  it.each(LANGUAGES)(
    'in %s are accessible, whole, and load nothing from elsewhere',
    async (name, language) => {
      context = await browser.newContext()
      const onPage = async (page: Page) => expect(await page.getAttribute('html', 'lang')).toBe(language)
      const onLook = async (page: Page, path: string, look: string) => {
        if (pictures === undefined) return
        const file = `admin${path}-${name}-${look}`.replace(/\W+/g, '-')
        await page.screenshot({ path: `${pictures}/${file}.png`, fullPage: true })
      }
      const walk = { base, paths: paths(), context: OPERATOR, language, onPage, onLook }
      expect(await faultsOfPages(browser, walk)).toEqual([])
    },
  )

  it('lead from the queues to the overview where no script runs', async () => {
    const page = await open('/queues', { javaScriptEnabled: false })
    await page.click('noscript a')
    expect(new URL(page.url()).pathname).toBe('/admin')
  })

  // Bull Board's script chooses the colors, so each scheme gets a page that was loaded in it.
  it.each([
    ['in light', { colorScheme: 'light', locale: 'en' }],
    ['in dark', { colorScheme: 'dark', locale: 'en' }],
    ['in German', { colorScheme: 'light', locale: 'de' }],
  ] as const)('%s show the queues without a finding in what is ours', async (_, options) => {
    const page = await open('/queues', options)
    await page.waitForSelector('a[href$="/queue/deliveries"]')
    await page.waitForLoadState('networkidle')
    const looks = LOOKS.filter(({ colorScheme }) => colorScheme === options.colorScheme)
    const faults = await faultsInLooks(page, looks)
    expect(faults.filter((fault) => !FOREIGN.test(fault))).toEqual([])
  })
})
