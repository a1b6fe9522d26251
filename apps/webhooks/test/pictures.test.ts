import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { chromiumPath, launchChromium } from '@signet/local/browser'
import { OAuthTester } from './support/oauth.js'
import { startHarness, type Harness } from './support/harness.js'

const executable = chromiumPath()
const describeInBrowser = executable === null ? describe.skip : describe

const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url))
const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: 'dark' } as const

describeInBrowser('the pictures of the README', () => {
  let harness: Harness
  let oauth: OAuthTester
  let browser: Browser
  beforeAll(async () => {
    harness = await startHarness()
    oauth = new OAuthTester(harness)
    browser = await launchChromium(executable)
  })
  afterAll(async () => {
    await browser.close()
    await harness.close()
  })

  const start = async (options: typeof PHONE): Promise<Page> => {
    const page = await browser.newPage(options)
    const { client_id } = await oauth.client({ client_name: 'Notes for Teams' })
    await page.goto(oauth.authorizeUrl(client_id))
    return page
  }

  /** A page that does not fit would be cut off in its picture. README_PICTURES=1 replaces the one in docs/images. */
  const expectWhole = async (page: Page, name: string) => {
    const [shown, needed] = await page.evaluate<[number, number]>(
      '[document.documentElement.clientHeight, document.documentElement.scrollHeight]',
    )
    expect(needed).toBe(shown)
    const picture = await page.screenshot()
    expect(picture.length).toBeGreaterThan(0)
    if (process.env['README_PICTURES'] === '1') await writeFile(`${IMAGES}${name}.png`, picture)
  }

  it('show the whole consent page on a phone in the dark', async () => {
    const user = harness.identity.addUser({ email: 'ana@example.com' })
    const page = await start(PHONE)
    await page.fill('#identifier', user.email)
    await page.fill('#password', user.password)
    await page.click('button:text-is("Sign in")')
    await page.waitForSelector('text=Approve')
    await expectWhole(page, 'consent')
  })
})
