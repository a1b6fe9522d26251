import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { aUser } from '../support/api.js'
import { anOperator } from '../support/operator.js'
import type { TestServer } from '../support/server.js'
import { aUserWithTotp, startUi } from './support.js'

const IMAGES = fileURLToPath(new URL('../../docs/images/', import.meta.url))
const LAPTOP = { width: 1100, height: 760 }

describeInBrowser('the operator page in Chromium', () => {
  let server: TestServer
  let browser: Chromium
  let cookies: { name: string; value: string; url: string }[]
  beforeAll(async () => {
    server = await startUi({ AUTH_UI_OPERATOR_ENABLED: 'true' })
    browser = await launchChromium()
    const operator = await anOperator(server)
    cookies = [...operator.browser.cookies].map(([name, value]) => ({ name, value, url: server.url }))
  })
  afterAll(async () => {
    await browser.close()
    await server.close()
  })

  /** Opens a page in the operator's browser, without JavaScript. */
  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: LAPTOP, javaScriptEnabled: false, ...options })
    await context.addCookies(cookies)
    const page = await context.newPage()
    await page.goto(`${server.url}${path}`)
    return page
  }

  it('leads from an address to a banned account by the keyboard alone, without script', async () => {
    const { email } = await aUser(server)
    const page = await open('/ui/operator')
    await page.focus('#q')
    await page.keyboard.type(email)
    await page.keyboard.press('Enter')
    await page.focus(`text=${email}`)
    await page.keyboard.press('Enter')
    await page.waitForSelector('h1')
    await page.focus('#duration')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForSelector('text=The account is banned')
    expect(await page.textContent('main')).toContain('Lift the ban')
  })

  it('shows one person', async () => {
    const person = await aUserWithTotp(server)
    const page = await open(`/ui/operator/users/${person.user.id}`)
    expect(await page.textContent('main')).toContain('Sign out everywhere')
    const picture = await page.screenshot()
    expect(picture.length).toBeGreaterThan(0)
    if (process.env['README_PICTURES'] === '1') await writeFile(`${IMAGES}operator-page.png`, picture)
  })
})
