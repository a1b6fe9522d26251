import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { SIGNET } from '@signet/brand'
import { languages, type Language } from '@signet/language'
import {
  accessibilityFindings,
  type Chromium,
  launchChromium,
  sidewaysScroll,
} from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import type { BrowserContext, Page } from 'playwright-core'
import { contentsIn } from '../src/mail/contents.js'
import { mailKinds, noticeKinds, type MailVariables } from '../src/mail/kinds.js'
import { MailRenderer, type RenderedMail } from '../src/mail/mail-renderer.js'
import { createOutbound, type Outbound } from '../src/outbound/outbound.js'
import { MESSAGE } from './support/mailer.js'
import { anObserver } from './support/observer.js'

/** A brand with everything except a PNG, because this test shows emails outside mail programs. */
const BRAND = {
  ...SIGNET,
  name: 'Müller & Söhne',
  accent: '#005f2f',
  support: 'help@example.com',
  privacyUrl: 'https://example.com/privacy?a=1&b=2',
}

const LONG = `${'a'.repeat(60)}@${'b'.repeat(60)}.example.com`
/** Values as long as they get: a layout that holds with these always holds. */
const variables: MailVariables = {
  email: LONG,
  newEmail: `new-${LONG}`,
  oldEmail: `old-${LONG}`,
  sendingTo: LONG,
  confirmationUrl: `https://auth.example.com/verify?token=pkce_${'c'.repeat(64)}&type=signup&redirect_to=${'d'.repeat(300)}`,
  recoveryUrl: `https://auth.example.com/ui/forgot?long=${'e'.repeat(200)}`,
  token: '1234567890',
  tokenHash: 'c'.repeat(64),
  phone: '4915100000001',
  oldPhone: '4915100000002',
  provider: 'github',
  factorType: 'totp',
}
const kinds = [...mailKinds, ...noticeKinds]
const widths = [320, 375, 640]

describeInBrowser('the built-in emails in Chromium', () => {
  let browser: Chromium
  let context: BrowserContext
  let page: Page
  let outbound: Outbound
  let renderer: MailRenderer
  let requests: string[]
  beforeAll(async () => {
    outbound = createOutbound({ allowPrivateUrls: false })
    renderer = new MailRenderer({
      config: {
        siteUrl: 'https://app.example.com',
        brand: BRAND,
        secretMs: 3_600_000,
        subjects: {},
        templates: {},
      },
      outbound,
      observer: anObserver(),
    })
    browser = await launchChromium()
    context = await browser.newContext({ javaScriptEnabled: true })
    page = await context.newPage()
    requests = []
    page.on('request', (request) => requests.push(request.url()))
  })
  afterAll(async () => {
    await browser.close()
    await outbound.close()
  })

  const cases = kinds.flatMap((kind) => languages.map((language) => [kind, language] as const))
  it.each(cases)(
    '%s (%s) is readable on every screen, in light and dark, and loads nothing',
    async (kind, language) => {
      const mail = await renderer.render(kind, variables, { origin: { ...MESSAGE.origin, language } })
      await page.setContent(mail.html)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        for (const width of widths) {
          await page.setViewportSize({ width, height: 700 })
          await takePicture(`${kind}-${language}-${colorScheme}-${width}`)
          const seen = { colorScheme, width, scroll: await sidewaysScroll(page), cut: await cutOff() }
          expect(seen).toEqual({ colorScheme, width, scroll: 0, cut: [] })
        }
        // Colors and structure do not change with the width, and structure does not change with the colors.
        const rules = colorScheme === 'dark' ? 'colors' : 'all'
        expect([colorScheme, await accessibilityFindings(page, rules)]).toEqual([colorScheme, []])
      }
      await expectContent(kind, language, mail)
      expect(requests.filter((url) => !url.startsWith('about:'))).toEqual([])
    },
  )

  /** Expects the link and the code to be visible, and to be in the plain text as well. */
  async function expectContent(
    kind: (typeof kinds)[number],
    language: Language,
    { text = '' }: RenderedMail,
  ): Promise<void> {
    const content = contentsIn(language).get(kind)
    if (content === undefined) throw new Error(`no ${kind}`)
    const { button, code = false, heading, recovery } = content
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(heading)
    expect(text).toContain(heading)
    const links = page.locator(`a[href="${variables.confirmationUrl ?? ''}"]`)
    expect(await links.count()).toBe(button === undefined ? 0 : 2)
    if (button !== undefined) {
      expect(await page.getByRole('link', { name: button }).isVisible()).toBe(true)
      expect(text).toContain(variables.confirmationUrl)
    }
    if (recovery !== undefined) {
      expect(await page.getByRole('link', { name: recovery }).isVisible()).toBe(true)
      expect(text).toContain(variables.recoveryUrl)
    }
    expect(await page.getByText('1234567890', { exact: true }).isVisible()).toBe(code)
    expect(text.includes('1234567890')).toBe(code)
  }

  /** Texts that reach beyond the right edge of the screen. */
  const cutOff = () =>
    page.evaluate<string[]>(`[...document.querySelectorAll('h1, p, a')]
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5)
      .map((element) => element.textContent.slice(0, 40))`)

  /** PICTURES=<folder> saves a picture of each email. */
  async function takePicture(name: string): Promise<void> {
    const folder = process.env['PICTURES']
    if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
  }
})
