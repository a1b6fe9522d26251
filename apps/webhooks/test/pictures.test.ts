import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { describeInChromium, signInHere } from './support/chromium.js'
import { aDelivery } from './support/portal.js'

const IMAGES = fileURLToPath(new URL('../docs/images/', import.meta.url))
const LAPTOP = { viewport: { width: 1100, height: 560 } }
const PHONE = { viewport: { width: 390, height: 844 }, colorScheme: 'dark' } as const

const ENV = { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' }

describeInChromium('the pictures of the README', ENV, ({ harness, oauth, browser }) => {
  const start = async (options: typeof PHONE): Promise<Page> => {
    const page = await browser().newPage(options)
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
    await take(page, name)
  }
  const take = async (page: Page, name: string) => {
    const picture = await page.screenshot()
    expect(picture.length).toBeGreaterThan(0)
    if (process.env['README_PICTURES'] === '1') await writeFile(`${IMAGES}${name}.png`, picture)
  }

  it('show the whole consent page on a phone in the dark', async () => {
    const user = harness.identity.addUser({ email: 'ana@example.com' })
    const page = await start(PHONE)
    await signInHere(page, user)
    await page.waitForSelector('text=Approve')
    await expectWhole(page, 'consent')
  })

  it('show how an endpoint does in the portal', async () => {
    const user = harness.identity.addUser({ email: 'ben@example.com' })
    const page = await browser().newPage(LAPTOP)
    await page.goto(`${harness.base}/portal`)
    await signInHere(page, user)
    await page.fill('#url', 'https://127.0.0.1/hooks/notes')
    await page.click('button:text-is("Add webhook")')
    const { rows } = await harness.db.query<{ id: string }>(
      'select id from webhook_endpoints where account_id = $1',
      [user.id],
    )
    const id = rows[0]?.id ?? ''
    for (let hoursAgo = 0; hoursAgo < 24; hoursAgo += 1)
      for (let count = 0; count <= (hoursAgo * 7) % 5; count += 1)
        await aDelivery(harness, id, { hoursAgo, tookMs: 60 + 9 * hoursAgo, status: hoursAgo === 9 ? 2 : 1 })
    await page.goto(`${harness.base}/portal/endpoints/${id}`)
    expect(await page.textContent('.numbers')).toMatch(/[1-9]\d+ delivered/)
    await take(page, 'portal')
    const german = await browser().newPage({ ...PHONE, locale: 'de' })
    await german.context().addCookies(await page.context().cookies())
    await german.goto(`${harness.base}/portal/endpoints/${id}`)
    expect(await german.textContent('.numbers')).toMatch(/[1-9]\d+ zugestellt/)
    await take(german, 'portal-german')
  })
})
