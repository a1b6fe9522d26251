import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { chromiumPath, launchChromium } from '../src/browser.js'
import { waitUntil } from '../src/wait-until.js'
import { runningStack, type RunningStack } from './support/running-stack.js'

const executable = chromiumPath()
const describeInBrowser = executable === null ? describe.skip : describe

const PASSWORD = 'correct horse battery'
const NEW_PASSWORD = 'staple battery horse'
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }
const LAPTOP = { viewport: { width: 1280, height: 800 } }

/** Whole ways of a person through the services that `npm start` runs, across pages, devices, email and deliveries. */
describeInBrowser('a person', () => {
  let stack: RunningStack
  let browser: Browser
  const devices: BrowserContext[] = []
  beforeAll(async () => {
    stack = await runningStack()
    browser = await launchChromium(executable)
  })
  afterAll(async () => {
    for (const device of devices) await device.close()
    await browser.close()
    await stack.stop()
  })

  /** A browser of its own, with no cookies. */
  async function device(kind: object): Promise<Page> {
    const context = await browser.newContext(kind)
    devices.push(context)
    return context.newPage()
  }

  type Message = { text: string }
  /** The link of the newest email once there are so many. */
  const linkTo = (email: string, count: number): Promise<string> =>
    waitUntil(
      async () => {
        const answer = await fetch(`${stack.world.sandboxUrl}/api/messages?to=${email}`)
        const { items } = (await answer.json()) as { items: Message[] }
        return items.length < count ? undefined : /http\S+verify\S+/.exec(items[0]?.text ?? '')?.[0]
      },
      { timeoutMs: 60_000, describe: `email ${count} to ${email}` },
    )

  async function signUp(page: Page, email: string): Promise<void> {
    await page.goto(`${stack.world.webhooksUrl}/portal`)
    await page.click('text=Create an account')
    await page.fill('[name=identifier]', email)
    await page.fill('[name=password]', PASSWORD)
    await page.click('button:text-is("Create account")')
    await page.waitForSelector('text=Check your email')
    await page.goto(await linkTo(email, 1))
    await page.click('button:text-is("Continue")')
  }

  it('who is new gets from the portal over an account to a verified delivery', async () => {
    const email = 'new@journeys.test'
    const page = await device(LAPTOP)
    await signUp(page, email)
    await page.waitForURL(`${stack.world.webhooksUrl}/portal`)
    const hook = await (
      await fetch(`${stack.world.sandboxUrl}/api/hooks`, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ path: '/hooks/journey' }),
      })
    ).json()
    const { url } = hook as { url: string }
    await page.fill('#url', url)
    await page.click('button:text-is("Add endpoint")')
    const secret = (await page.textContent('pre'))?.trim()
    await fetch(`${stack.world.sandboxUrl}/api/hooks`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ path: '/hooks/journey', secret }),
    })
    await page.click('text=Send a test event')
    await waitUntil(
      async () => {
        await page.click('text=Refresh')
        return (await page.textContent('main'))?.includes('Delivered') || undefined
      },
      { timeoutMs: 60_000, describe: 'the delivery in the log' },
    )
    const answer = await fetch(`${stack.world.sandboxUrl}/api/deliveries?path=/hooks/journey`)
    expect(await answer.json()).toMatchObject({ items: [{ eventType: 'webhook.ping', verified: true }] })
  })

  it('who forgot the password on a phone chooses a new one on the laptop that opens the link', async () => {
    const email = 'forgetful@journeys.test'
    await signUp(await device(LAPTOP), email)
    const [phone, laptop] = [await device(PHONE), await device(LAPTOP)]
    await phone.goto(`${stack.world.webhooksUrl}/portal`)
    await phone.click('text=Forgot password?')
    await phone.fill('[name=email]', email)
    await phone.click('button:text-is("Email me a link")')
    await phone.waitForSelector('text=Check your email')
    await laptop.goto(await linkTo(email, 2))
    await laptop.click('button:text-is("Choose a new password here")')
    await laptop.fill('[name=password]', NEW_PASSWORD)
    await laptop.click('button[type=submit]')
    await laptop.waitForSelector(`text=${email}`)
    await phone.goto(`${stack.world.webhooksUrl}/portal`)
    await phone.fill('[name=identifier]', email)
    await phone.fill('[name=password]', NEW_PASSWORD)
    await phone.click('button:text-is("Sign in")')
    await phone.waitForURL(`${stack.world.webhooksUrl}/portal`)
  })
})
