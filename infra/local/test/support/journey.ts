import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { waitUntil } from '../../src/wait-until.js'
import type { RunningStack } from './running-stack.js'

export const PASSWORD = 'correct horse battery'
export const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }
export const LAPTOP = { viewport: { width: 1280, height: 800 } }

const REPOSITORY = new URL('../../../../', import.meta.url)

type Message = { subject: string; text: string }
type Received = { eventId: string; eventType: string; verified: boolean | null; answered?: unknown }

/** What a person uses with the services of `npm start`: devices, an inbox, and a receiver. */
export class Journey {
  readonly #devices: BrowserContext[] = []

  private constructor(
    readonly stack: RunningStack,
    private readonly browser: Chromium,
  ) {}

  static async begin(stack: RunningStack): Promise<Journey> {
    return new Journey(stack, await launchChromium())
  }

  async end(): Promise<void> {
    for (const device of this.#devices) await device.close()
    await this.browser.close()
  }

  get portal(): string {
    return `${this.stack.world.webhooks}/portal`
  }

  /** A separate browser without cookies. */
  async device(kind: object): Promise<Page> {
    const context = await this.browser.newContext(kind)
    this.#devices.push(context)
    return context.newPage()
  }

  /** Waits for `count` emails to an address, and for a link that matches in one of them, the newest first. */
  linkTo(email: string, count: number, pattern = /http\S+verify\S+/): Promise<string> {
    return waitUntil(
      async () => {
        const answer = await fetch(`${this.stack.world.inbox}/api/messages?to=${email}`)
        const { items } = (await answer.json()) as { items: Message[] }
        if (items.length < count) return undefined
        return items.flatMap(({ text }) => pattern.exec(text)?.[0] ?? [])[0]
      },
      { describe: `email ${count} to ${email}` },
    )
  }

  /** Creates an account from the portal, and confirms it. */
  async signUp(page: Page, email: string): Promise<void> {
    await page.goto(this.portal)
    await page.click('text=Create an account')
    await page.fill('[name=identifier]', email)
    await page.fill('[name=password]', PASSWORD)
    await page.click('button:text-is("Create account")')
    await page.waitForSelector('text=Check your email')
    await page.goto(await this.linkTo(email, 1))
    await page.click('button:text-is("Continue")')
    await page.waitForURL(this.portal)
  }

  /** Sets what the receiver does at a path, and returns the URL. */
  async hook(path: string, more: { secret?: string; otherwise?: object } = {}): Promise<string> {
    const answer = await fetch(`${this.stack.world.inbox}/api/hooks`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ path, ...more }),
    })
    return ((await answer.json()) as { url: string }).url
  }

  async received(path: string): Promise<Received[]> {
    const answer = await fetch(`${this.stack.world.inbox}/api/deliveries?path=${path}`)
    return ((await answer.json()) as { items: Received[] }).items
  }

  /** Adds an endpoint on the first page of the portal, and returns its secret. */
  async addEndpoint(page: Page, url: string): Promise<string> {
    await page.fill('#url', url)
    await page.click('button:text-is("Add webhook")')
    return (await page.textContent('pre'))?.trim() ?? ''
  }

  /** README_PICTURES=1 replaces the picture in the documentation. */
  async picture(page: Page, name: string, folder = 'apps/webhooks/docs/images'): Promise<void> {
    if (process.env['README_PICTURES'] !== '1') return
    const picture = await page.screenshot()
    if (picture.length === 0) throw new Error(`no picture ${name}`)
    await writeFile(fileURLToPath(new URL(`${folder}/${name}.png`, REPOSITORY)), picture)
  }
}
