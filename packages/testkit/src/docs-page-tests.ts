import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { type Chromium, launchChromium, sidewaysScroll } from './chromium.js'
import { faultsInLooks, LOOKS, namedAlike } from './page-walk.js'
import { describeInBrowser } from './browser.js'
import { DocsReader } from './docs-reader.js'

type ContextOptions = NonNullable<Parameters<Chromium['newContext']>[0]>

type Running = { base: string; close: () => Promise<void> }

type DocsPage<Service extends Running> = {
  /** The service whose API page is tested. */
  of: string
  start: () => Promise<Service>
  /** An operation that has no parameters and needs a token, and how it refuses requests. */
  guarded: {
    id: string
    name: string
    path: string
    withoutToken: string
    withWrongToken: { status: string; text: string }
  }
}

type Opened<Service extends Running> = {
  service: () => Service
  open: (options?: ContextOptions) => Promise<DocsReader>
}

/** Tests that the API page of every service passes in Chromium; `more` adds the tests of one service. */
export function describeDocsPage<Service extends Running>(
  { of, start, guarded }: DocsPage<Service>,
  more: (page: Opened<Service>) => void,
): void {
  describeInBrowser(`the API page of ${of} in Chromium`, () => {
    const { id, name, path } = guarded
    let service: Service
    let browser: Chromium
    let reader: DocsReader | undefined
    beforeAll(async () => {
      service = await start()
      browser = await launchChromium()
    })
    afterAll(async () => {
      await browser.close()
      await service.close()
    })
    afterEach(() => reader?.close())
    const open = async (options: ContextOptions = {}) =>
      (reader = await DocsReader.open(browser, service.base, options))

    more({ service: () => service, open })

    it('shows a refused token, a missing one and a broken connection as text', async () => {
      const page = await open()
      expect(await page.tryIt(id)).toMatchObject({
        status: '401 Unauthorized (sent without a token)',
        text: expect.stringContaining(guarded.withoutToken),
      })
      expect(await page.tryIt(id, { token: 'invalid' })).toMatchObject({
        status: guarded.withWrongToken.status,
        text: expect.stringContaining(guarded.withWrongToken.text),
      })
      await page.page.context().setOffline(true)
      expect(await page.tryIt(id)).toMatchObject({
        status: expect.stringMatching(/^The request could not be sent: ./),
        text: '',
      })
    })

    it('shows markup that comes back as text', async () => {
      const answer = await (await open()).tryIt('getDocsPage')
      expect(answer.text).toContain('<h1 id="content"')
      expect(answer.elements).toBe(0)
    })

    it('is used with the keyboard: from the contents to an operation, its form and its answer', async () => {
      const page = await open()
      const { keyboard } = page.page
      await page.tabTo('a[href="#content"]')
      await keyboard.press('Enter')
      await page.page.waitForSelector('h1:focus')
      await page.page.reload()
      await page.tabTo(`a[href="#${id}"]`)
      await keyboard.press('Enter')
      await page.tabTo(`#${id} details:has(form) > summary`)
      await keyboard.press('Enter')
      await page.tabTo(`#${id} form button`)
      const outline = 'getComputedStyle(document.activeElement).outlineStyle'
      expect(await page.page.evaluate<string>(outline)).toBe('solid')
      await keyboard.press('Enter')
      expect((await page.answerOf(id)).status).toBe('401 Unauthorized (sent without a token)')
      await page.tabTo(`#${id} pre`)
    })

    it('is read without script, on a phone too: contents, anchors and members, and no form', async () => {
      const opened = await open({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } })
      const { page } = opened
      await page.getByText('Contents', { exact: true }).click()
      await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
      await page.waitForURL(`**/docs#${id}`)
      const operation = opened.operation(id)
      expect(await operation.getByText(path, { exact: true }).isVisible()).toBe(true)
      await operation.locator('.answer > summary').first().click()
      expect(await operation.getByRole('row').first().isVisible()).toBe(true)
      await operation.getByText('Try it').click()
      expect(await operation.getByText('needs its script').isVisible()).toBe(true)
      expect(await page.locator('form:visible, input:visible').count()).toBe(0)
    })

    it('has its contents open beside the page on a desktop, and headings that skip no level', async () => {
      const page = await open({ javaScriptEnabled: false })
      const link = page.page.getByRole('navigation').getByRole('link', { name, exact: true })
      expect(await link.isVisible()).toBe(true)
      const levels = await page.headingLevels()
      expect(levels.filter((level) => level === 1)).toHaveLength(1)
      expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([])
    })

    it('is accessible in light and dark, on a phone and a desktop; nothing cut off, nothing external', async () => {
      const page = await open()
      for (const { viewport } of LOOKS) {
        await page.page.setViewportSize(viewport)
        expect(await sidewaysScroll(page.page)).toBe(0)
      }
      expect(await namedAlike(page.page)).toEqual([])
      await page.openEverything()
      await page.tryIt(id)
      const onLook = async (look: string) => expect([look, await page.sidewaysParts()]).toEqual([look, []])
      expect(await faultsInLooks(page.page, LOOKS, onLook)).toEqual([])
      expect(page.foreign).toEqual([])
    })
  })
}
