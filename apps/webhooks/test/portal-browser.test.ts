import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import { startHarness, type Harness } from './support/harness.js'
import type { User } from './support/identity-double.js'
import { aDelivery } from './support/portal.js'

describeInBrowser('the portal in Chromium', () => {
  let harness: Harness
  let browser: Chromium
  let context: BrowserContext
  let page: Page
  beforeAll(async () => {
    harness = await startHarness({ env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' } })
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser.close()
    await harness.close()
  })
  beforeEach(async () => {
    // The pages must work without scripts, so scripts are switched off here.
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
    await page.click('button:text-is("Add webhook")')
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
    // Moves the focus past both events to the button.
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
    const complaints: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
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
    expect(complaints).toEqual([])
  })

  it('lets a keyboard skip the navigation', async () => {
    await signIn()
    await page.goto(`${harness.base}/portal/tokens`)
    await page.keyboard.press('Tab')
    const focused = (property: string) => page.evaluate<string>(`document.activeElement.${property}`)
    expect(await focused('textContent')).toBe('Skip to the content')
    expect((await page.locator('.skip').boundingBox())?.height).toBeGreaterThan(20)
    await page.keyboard.press('Enter')
    await page.waitForSelector('h1:focus')
    await page.keyboard.press('Tab')
    expect(await focused('closest("nav")')).toBeNull()
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
})
