import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { accessibilityFindings, chromiumPath, launchChromium, sidewaysScroll } from '@signet/local/browser'
import { OAuthTester } from './support/oauth.js'
import { startHarness, type Harness } from './support/harness.js'
import type { User } from './support/identity-double.js'
import { aDelivery } from './support/portal.js'

const executable = chromiumPath()
const describeInBrowser = executable === null ? describe.skip : describe

describeInBrowser('the portal in Chromium', () => {
  let harness: Harness
  let oauth: OAuthTester
  let browser: Browser
  let context: BrowserContext
  let page: Page
  beforeAll(async () => {
    harness = await startHarness({ env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' } })
    oauth = new OAuthTester(harness)
    browser = await launchChromium(executable)
  })
  afterAll(async () => {
    await browser.close()
    await harness.close()
  })
  beforeEach(async () => {
    // The pages have no script of their own; with it switched off nothing may be missing.
    context = await browser.newContext({ viewport: { width: 1100, height: 760 }, javaScriptEnabled: false })
    page = await context.newPage()
  })
  afterEach(() => context.close())

  async function signIn(): Promise<User> {
    const user = harness.identity.addUser()
    await page.goto(`${harness.base}/portal`)
    await page.fill('#identifier', user.email)
    await page.fill('#password', user.password)
    await page.click('button:text-is("Sign in")')
    return user
  }
  const addEndpoint = async () => {
    await page.fill('#url', `https://127.0.0.1/hooks/${'long-path-'.repeat(8)}`)
    await page.click('button:text-is("Add endpoint")')
  }
  const idOf = async (user: User) => {
    const { rows } = await harness.db.query<{ id: string }>(
      'select id from webhook_endpoints where account_id = $1 order by id limit 1',
      [user.id],
    )
    return rows[0]?.id ?? ''
  }

  it('leads from nothing to a test event and its delivery by clicks alone', async () => {
    await signIn()
    await addEndpoint()
    expect(await page.textContent('pre')).toMatch(/^whsec_/)
    await page.click('text=Send a test event')
    expect(await page.textContent('[role=status]')).toContain('on its way')
    await page.click('text=Refresh')
    expect(await page.textContent('h1')).toBe('Delivery log')
  })

  it('is operated by the keyboard alone', async () => {
    await signIn()
    await page.focus('#url')
    await page.keyboard.type('https://127.0.0.1/keyboard')
    // Past both events to the button.
    for (let press = 0; press < 3; press += 1) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForSelector('text=Your signing secret')
  })

  it('keeps what is under way up to date without a click, until it is over', async () => {
    await context.close()
    context = await browser.newContext({ viewport: { width: 1100, height: 760 } })
    page = await context.newPage()
    const user = await signIn()
    await addEndpoint()
    const id = await idOf(user)
    const { id: delivery } = await aDelivery(harness, id, { status: 0 })
    await page.goto(`${harness.base}/portal/endpoints/${id}/deliveries/${delivery}`)
    expect(await page.textContent('[role=status]')).toContain('Pending')
    const asOf = await page.getAttribute('[data-live] > .soft time', 'datetime')
    await page.waitForSelector(`[data-live] > .soft time:not([datetime="${asOf ?? ''}"])`)
    await harness.db.query(
      'update webhook_deliveries set status = 1, delivered_at = now(), next_attempt_at = null where id = $1',
      [delivery],
    )
    await page.waitForSelector('button:text-is("Send it again")')
    expect(await page.textContent('[role=status]')).toContain('Delivered')
    expect(await page.$('[data-live], script')).toBeNull()
  })

  it('signs out', async () => {
    await signIn()
    await page.click('text=Sign out')
    await page.goto(`${harness.base}/portal`)
    expect(await page.$('#password')).not.toBeNull()
  })

  it('refuses to be framed', async () => {
    await signIn()
    await page.goto(harness.identity.url)
    await page.setContent(`<iframe src="${harness.base}/portal"></iframe>`)
    await page.waitForLoadState('networkidle')
    const frame = page.frames().find((candidate) => candidate !== page.mainFrame())
    expect(await frame?.$('nav')).toBeNull()
  })

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    it.each([
      ['a phone', { width: 360, height: 740 }],
      ['a desktop', { width: 1100, height: 760 }],
    ])('on %s every page is accessible and nothing is cut off', async (_, viewport) => {
      await context.close()
      context = await browser.newContext({ viewport, colorScheme })
      page = await context.newPage()
      const user = await signIn()
      const seen = new Set<string>()
      const expectGood = async () => {
        seen.add(`${await page.title()}`)
        expect([page.url(), await accessibilityFindings(page), await sidewaysScroll(page)]).toEqual([
          page.url(),
          [],
          0,
        ])
      }
      await expectGood()
      await addEndpoint()
      await expectGood()
      const id = await idOf(user)
      const failed = await aDelivery(harness, id, { status: 2, answer: 'x'.repeat(300) })
      for (let hoursAgo = 0; hoursAgo < 24; hoursAgo += 3) await aDelivery(harness, id, { hoursAgo })
      await oauth.connect(user, { client_name: 'N'.repeat(120) })
      const own = `/endpoints/${id}`
      for (const below of [
        '',
        own,
        `${own}/delete`,
        `${own}/deliveries`,
        `${own}/deliveries/${failed.id}`,
        `${own}/recover`,
      ]) {
        await page.goto(`${harness.base}/portal${below}`)
        await expectGood()
      }
      await page.click('button:text-is("Start")')
      await expectGood()
      for (const below of [
        '/endpoints/new',
        '/applications',
        '/tokens',
        '/events',
        '/signatures',
        '/endpoints/1',
        '/nowhere',
      ]) {
        await page.goto(`${harness.base}/portal${below}`)
        await expectGood()
      }
      expect(seen.size).toBe(14)
    })
  })
})
