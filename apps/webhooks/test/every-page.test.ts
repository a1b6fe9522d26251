import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import { addressesOf, faultsOfPages, LANGUAGES, needsOfScript } from '@signet/testkit/page-walk'
import type { Page } from 'playwright-core'
import { publicRoutes } from '../src/routes.js'
import { startHarness, type Harness } from './support/harness.js'
import type { User } from './support/identity-double.js'
import { OAuthTester } from './support/oauth.js'
import { aDelivery } from './support/portal.js'

const ASSET = /\.(js|svg|ico|json)$/
/** Redirects to the page of the identity server, which is not ours. */
const LEADS_AWAY = '/sign-in'
/** This page is as long as the API, and the same for everybody. docs-browser.test.ts tests it. */
const DOCS = '/docs'
/** PICTURES=<folder> saves a picture of each page there, to look at. */
const pictures = process.env['PICTURES']

/** Walks the table of routes, so that new pages are tested, too. */
describeInBrowser('every page', () => {
  let harness: Harness
  let browser: Chromium
  let paths: string[]
  let user: User
  beforeAll(async () => {
    harness = await startHarness({ env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' } })
    browser = await launchChromium()
    user = harness.identity.addUser()
    paths = await addresses()
  })
  afterAll(async () => {
    await browser.close()
    await harness.close()
  })

  /** Fills an account with all that pages show, on the pages themselves and without scripts, and returns the addresses. */
  async function addresses(): Promise<string[]> {
    const oauth = new OAuthTester(harness)
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await signIn(page)
    await page.fill('#url', `https://127.0.0.1/hooks/${'long-path-'.repeat(8)}`)
    await page.click('button:text-is("Add webhook")')
    const [, endpoint = ''] = /endpoints\/(\d+)/.exec(page.url()) ?? []
    const failed = await aDelivery(harness, endpoint, { status: 2, answer: 'x'.repeat(300) })
    for (let hoursAgo = 0; hoursAgo < 24; hoursAgo += 3) await aDelivery(harness, endpoint, { hoursAgo })
    await page.goto(`${harness.base}/portal/endpoints/${endpoint}/recover`)
    await page.click('button:text-is("Start")')
    const [recovery = ''] = /[^/?]+(?=$|\?)/.exec(new URL(page.url()).pathname) ?? []
    const { client } = await oauth.connect(user, { client_name: 'N'.repeat(120) })
    const { client_id: waiting } = await oauth.client({ client_name: 'A'.repeat(200) })
    await context.close()
    const { pages, undocumented, documentation } = publicRoutes(harness.ctx)
    const shown = [...pages, ...undocumented.landing, ...undocumented.portal, ...documentation]
      .filter(
        ({ method, path }) => method === 'get' && !ASSET.test(path) && ![LEADS_AWAY, DOCS].includes(path),
      )
      // A GET of the address of a form redirects to a page that is listed anyway.
      .filter(({ docs }) => !docs.operationId.startsWith('leave'))
    const samples = {
      'endpoints/:endpoint_id': endpoint,
      'deliveries/:delivery_id': failed.id,
      'recover/:recovery_id': recovery,
      'applications/:client_id': client.client_id,
    }
    const consent = oauth.authorizeUrl(waiting).replace(harness.base, '')
    return [
      ...addressesOf(
        shown.map(({ path }) => path),
        samples,
      ),
      consent,
      '/portal/endpoints/1',
      '/portal/nowhere',
      '/nowhere',
    ]
  }

  async function signIn(page: Page): Promise<void> {
    await page.goto(`${harness.base}/portal`)
    await page.fill('#identifier', user.email)
    await page.fill('#password', user.password)
    await page.click('button:text-is("Sign in")')
  }

  it('is one of many', () => {
    expect(paths.length).toBeGreaterThan(20)
  })

  it('works without a script', async () => {
    expect(await needsOfScript(browser, { base: harness.base, paths, prepare: signIn })).toEqual([])
  })

  it.each(LANGUAGES)(
    'in %s is accessible, whole, and loads nothing from elsewhere',
    async (name, language) => {
      const onLook = async (page: Page, path: string, look: string) => {
        if (pictures === undefined) return
        const file = `webhooks${path.slice(0, 60)}-${name}-${look}`.replace(/\W+/g, '-')
        await page.screenshot({ path: `${pictures}/${file}.png`, fullPage: true })
      }
      const walk = { base: harness.base, paths, language, prepare: signIn, onLook }
      expect(await faultsOfPages(browser, walk)).toEqual([])
    },
  )

  it.each(LANGUAGES)('in %s is so for somebody who is not signed in', async (_, language) => {
    const open = ['/', '/nowhere', '/sign-in/callback', '/oauth/authorize']
    expect(await faultsOfPages(browser, { base: harness.base, paths: open, language })).toEqual([])
  })
})
