import type { Chromium } from './chromium.js'

type ContextOptions = NonNullable<Parameters<Chromium['newContext']>[0]>
type Page = Awaited<ReturnType<Chromium['newPage']>>

/** What to type before trying a request: fields by their names, and the body as text. */
type Attempt = { token?: string; values?: Readonly<Record<string, string>>; body?: string }

/** A person who reads the API page of a service in a browser. */
export class DocsReader {
  /** Requests that the browser sent anywhere but to the service. */
  readonly foreign: string[] = []

  private constructor(
    readonly page: Page,
    base: string,
  ) {
    page.on('request', (request) => {
      if (!request.url().startsWith(`${base}/`)) this.foreign.push(request.url())
    })
  }

  static async open(browser: Chromium, base: string, options: ContextOptions = {}): Promise<DocsReader> {
    const page = await browser.newPage({ viewport: { width: 1100, height: 760 }, ...options })
    const reader = new DocsReader(page, base)
    await page.goto(`${base}/docs`)
    return reader
  }

  close(): Promise<void> {
    return this.page.close()
  }

  operation(id: string) {
    return this.page.locator(`section#${id}`)
  }

  /** Types what a request needs, clicks Send, and returns the answer that the page shows. */
  async tryIt(id: string, { token, values = {}, body }: Attempt = {}) {
    const operation = this.operation(id)
    if (!(await operation.locator('form').isVisible())) await operation.getByText('Try it').click()
    if (token !== undefined) await this.page.getByLabel('Token for trying requests').fill(token)
    for (const [name, value] of Object.entries(values))
      await operation.locator(`[name$=":${name}"]`).fill(value)
    if (body !== undefined) await operation.getByLabel('Body').fill(body)
    await operation.getByRole('button', { name: 'Send' }).click()
    return this.answerOf(id)
  }

  /** The status line and the answer, once there is one. */
  async answerOf(id: string) {
    const status = this.operation(id).getByRole('status').filter({ hasText: /[^…]$/ })
    await status.waitFor()
    const answer = this.operation(id).locator('pre')
    return {
      status: await status.textContent(),
      text: (await answer.isVisible()) ? await answer.textContent() : '',
      /** The number of elements in the answer: 0 unless the page treats its text as markup. */
      elements: await answer.locator('*').count(),
    }
  }

  async openEverything(): Promise<void> {
    await this.page.evaluate('document.querySelectorAll("details").forEach((one) => { one.open = true })')
  }

  /** Parts that a reader has to scroll sideways; form fields are exempt. */
  sidewaysParts(): Promise<string[]> {
    return this.page.evaluate<string[]>(
      `[...document.querySelectorAll('main *, nav *')]
        .filter((one) => one.scrollWidth > one.clientWidth && !one.matches('input, textarea'))
        .filter((one) => getComputedStyle(one).overflowX !== 'visible')
        .map(({ outerHTML }) => outerHTML.slice(0, 200))`,
    )
  }

  /** The levels of the headings, in document order. */
  headingLevels(): Promise<number[]> {
    return this.page.evaluate<number[]>(
      '[...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(({ tagName }) => Number(tagName[1]))',
    )
  }

  /** All that outlives the page or shows outside it: address, markup, history, storage and cookies. */
  traces(): Promise<string> {
    return this.page.evaluate<string>(
      'JSON.stringify([location.href, document.documentElement.outerHTML, history.state, { ...localStorage }, { ...sessionStorage }, document.cookie])',
    )
  }

  /** Presses Tab until a matching element has the focus; throws if none gets it. */
  async tabTo(selector: string): Promise<void> {
    const isThere = `document.activeElement.matches(${JSON.stringify(selector)})`
    for (let presses = 0; presses < 200; presses += 1) {
      await this.page.keyboard.press('Tab')
      if (await this.page.evaluate<boolean>(isThere)) return
    }
    throw new Error(`Tab does not lead to ${selector}`)
  }
}
