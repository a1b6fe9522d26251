import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { readVariables } from '@signet/config'
import { describeInBrowser } from '@signet/testkit/browser'
import { chromiumPath, plugInAuthenticator } from '@signet/testkit/chromium'
import type { Page } from 'playwright-core'
import { waitUntil } from '../src/wait-until.js'
import { connectApplication } from '../src/walkthrough/connect.js'
import {
  publishRecording,
  readRecording,
  sendTestEvent,
  setHook,
  createWebhook,
} from '../src/walkthrough/deliveries.js'
import { signUp } from '../src/walkthrough/sign-up.js'
import { Journey, LAPTOP, PASSWORD, PHONE } from './support/journey.js'
import { McpHost } from './support/mcp-host.js'
import { repository, runningStack, type RunningStack } from './support/running-stack.js'
import { describeTutorials } from './tutorials.js'

const NEW_PASSWORD = 'staple battery horse'
/** The number of consecutive failures that disables an endpoint. */
const LOST = 20
const REASON = 'the receiver is being repaired'

/** The services as `npm start` runs them, started once for all tests. */
let stack: RunningStack
beforeAll(async () => {
  stack = await runningStack()
})
afterAll(() => stack.stop())

describeTutorials(() => stack)

let journey: Journey
if (chromiumPath() !== null) {
  beforeAll(async () => {
    journey = await Journey.begin(stack)
  })
  afterAll(() => journey.end())
}

/** Whole journeys of a person through the services that `npm start` runs, across pages, devices, emails and deliveries. */
describeInBrowser('a person', () => {
  it('who is new gets from the portal over an account to a verified delivery', async () => {
    const page = await journey.device(LAPTOP)
    await journey.signUp(page, 'new@journeys.test')
    const secret = await journey.addEndpoint(page, await journey.hook('/hooks/journey'))
    await journey.hook('/hooks/journey', { secret })
    await page.click('text=Send a test event')
    // The log updates by itself while a delivery is pending.
    await page.waitForSelector('td:has-text("Delivered")')
    expect(await journey.received('/hooks/journey')).toMatchObject([
      { eventType: 'webhook.ping', verified: true },
    ])
    await page.goto(`${journey.stack.world.inbox}/`)
    await page.click('tr:has-text("new@journeys.test") a')
    await page.frameLocator('iframe').locator('body').waitFor()
    await journey.picture(page, 'inbox', 'infra/site/images')
    await page.goto(`${journey.stack.world.inbox}/receiver`)
    await page.click('td a:has-text("Delivery")')
    await page.waitForSelector('text=This is a test event')
    await journey.picture(page, 'receiver', 'infra/site/images')
  })

  it('who adds a passkey on the account page signs in with it, and types nothing', async () => {
    const page = await journey.device(LAPTOP)
    await journey.signUp(page, 'keys@journeys.test')
    await plugInAuthenticator(page)
    await page.click('a:text-is("Manage account")')
    await page.click('a:text-is("Create a passkey")')
    await page.click('button:text-is("Create a passkey")')
    await page.waitForSelector('[role=status]:has-text("The passkey was created")')
    await page.locator('h2:text-is("Passkeys")').scrollIntoViewIfNeeded()
    await journey.picture(page, 'passkeys', 'apps/auth/docs/images')
    await page.context().clearCookies()
    // The device signs in as soon as the browser suggests its passkeys in the field for the address.
    await page.goto(journey.portal)
    await page.waitForURL(journey.portal)
    expect(await page.textContent('main')).toContain('keys@journeys.test')
  })

  it('who forgot the password on a phone chooses a new one on the laptop that opens the link', async () => {
    const email = 'forgetful@journeys.test'
    await journey.signUp(await journey.device(LAPTOP), email)
    const [phone, laptop] = [await journey.device(PHONE), await journey.device(LAPTOP)]
    await phone.goto(journey.portal)
    await phone.click('text=Forgot password?')
    await phone.fill('[name=email]', email)
    await phone.click('button:text-is("Email me a link")')
    await phone.waitForSelector('text=Check your email')
    await laptop.goto(await journey.linkTo(email, 2))
    await laptop.click('button:text-is("Choose a new password here")')
    await laptop.fill('[name=password]', NEW_PASSWORD)
    await laptop.click('button[type=submit]')
    await laptop.waitForSelector(`text=${email}`)
    await phone.goto(journey.portal)
    await phone.fill('[name=identifier]', email)
    await phone.fill('[name=password]', NEW_PASSWORD)
    await phone.click('button:text-is("Sign in")')
    await phone.waitForURL(journey.portal)
  })

  it('who connected an MCP client looks it up in the portal and ends its access at once', async () => {
    const page = await journey.device(LAPTOP)
    await journey.signUp(page, 'host@journeys.test')
    const host = await McpHost.start(journey.stack.world.webhooks, 'Notes for Teams')
    try {
      await page.goto(await host.authorizationUrl())
      await page.click('button:text-is("Approve")')
      await page.waitForSelector('text=You may close this window.')
      const client = await host.connect()
      expect((await client.callTool({ name: 'list_webhooks', arguments: {} })).structuredContent).toEqual({
        items: [],
      })
      expect(await host.answers()).toEqual({ mcp: true, refresh: true })
      await page.goto(journey.portal)
      await page.click('nav >> text=Applications')
      await page.waitForSelector('h2:has-text("Notes for Teams")')
      await journey.picture(page, 'connected-application')
      await page.getByRole('button', { name: /^Revoke the access of Notes for Teams/ }).click()
      await page.waitForSelector('[role=status]:has-text("Access was revoked")')
      expect(await page.$('h2:has-text("Notes for Teams")')).toBeNull()
      await expect(client.callTool({ name: 'list_webhooks', arguments: {} })).rejects.toThrow()
      expect(await host.answers()).toEqual({ mcp: false, refresh: false })
    } finally {
      await host.stop()
    }
  })

  it('whose endpoint fails is told by email, fixes it, and gets every event that was lost', async () => {
    const [email, path] = ['owner@journeys.test', '/hooks/broken']
    const { world } = journey.stack
    const page = await journey.device(LAPTOP)
    await journey.signUp(page, email)
    const url = await journey.hook(path, { otherwise: { status: 500 } })
    const secret = await journey.addEndpoint(page, url)
    const signedIn = await fetch(`${world.auth}/token?grant_type=password`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ email, password: PASSWORD }),
    })
    const { user } = (await signedIn.json()) as { user: { id: string } }
    const recording = readRecording('product-review')
    const person = { email, password: PASSWORD, accountId: user.id }
    const lost: string[] = []
    for (let count = 0; count < LOST; count += 1)
      lost.push(await publishRecording(world, person, recording, `lost-${count}`))

    await page.goto(await journey.linkTo(email, 2, /http\S+\/portal\S*/))
    await waitUntil(
      async () => {
        await page.goto(journey.portal)
        return (await page.textContent('main'))?.includes('Disabled') || undefined
      },
      { describe: 'the endpoint is disabled', intervalMs: 500 },
    )
    await page.click(`h2 >> text=${url}`)
    await page.waitForSelector('text=it responded with 500')
    await journey.picture(page, 'disabled-endpoint')
    const failed = (await journey.received(path)).length
    await journey.hook(path, { secret })
    await page.click('button:text-is("Enable")')
    await page.click('text=Recover missed events')
    await page.click('button:text-is("Start")')
    await page.waitForSelector(`li:has-text("${LOST} delivered")`)
    await page.waitForSelector('text=All are queued')
    await journey.picture(page, 'recovery')
    const arrived = (await journey.received(path)).slice(failed)
    expect(arrived.map(({ eventId }) => eventId).sort()).toEqual(lost.sort())
    expect(arrived.every(({ verified }) => verified)).toBe(true)
  })
})

/** An operator follows one event from a failure to its delivery, on the pages and with the command that they name. */
describeInBrowser('an operator', () => {
  let page: Page
  let base: string
  let envFile: string
  beforeAll(async () => {
    envFile = join(journey.stack.folder, '.data/env/dispatcher.env')
    const settings = readVariables(envFile)
    base = `http://localhost:${settings['DISPATCHER_PORT']}`
    const httpCredentials = { username: 'grace', password: settings['DISPATCHER_ADMIN_TOKEN'] ?? '' }
    page = await journey.device({ httpCredentials, viewport: { width: 1100, height: 800 } })
  })

  /** Runs `ops` and returns what it prints. */
  async function ops(...argv: string[]): Promise<string> {
    const main = join(repository, 'apps/dispatcher/dist/main.js')
    const argumentsOfNode = [`--env-file=${envFile}`, main, 'ops', ...argv, '--by', 'grace']
    return (await promisify(execFile)(process.execPath, argumentsOfNode)).stdout
  }

  /** Reloads the page at `path` until it contains `text`. */
  async function pageSays(path: string, text: string): Promise<void> {
    // Chromium refuses to reload a page while it navigates to another one.
    await page.waitForURL(`${base}${path}`)
    await waitUntil(
      async () => {
        await page.reload()
        return (await page.textContent('main'))?.includes(text) || undefined
      },
      { describe: `"${text}" on the page`, intervalMs: 500 },
    )
  }

  it('sees why an event fails, pauses until the receiver is repaired, and sees it arrive, and arrive again', async () => {
    const { world } = journey.stack
    const person = await signUp(world, 'followed')
    const accessToken = await connectApplication(world, person)
    const webhook = await createWebhook(world, accessToken, 'followed')
    const { endpointId, path, secret } = webhook
    await setHook(world, path, { secret, otherwise: { status: 503, body: 'the disk is full' } })
    const eventId = await sendTestEvent({ world, accessToken, webhook })

    await page.goto(`${base}/admin`)
    await page.fill('[name=q]', eventId)
    await page.click('button:text-is("Search")')
    await pageSays(`/admin/events/${eventId}`, 'the disk is full')
    expect(await page.textContent('main')).toContain('http_503')

    await ops('pause', '--why', REASON)
    await page.click('text=Overview')
    expect(await page.textContent('main')).toContain(`Paused by grace`)
    expect(await page.textContent('main')).toContain(REASON)
    await page.click(`a[href="/admin/endpoints/${endpointId}"]`)
    expect(await page.textContent('main')).toContain('1 consecutive failure')
    await setHook(world, path, { secret })
    await ops('resume', '--why', 'it is repaired')

    // The retry is due a minute after the first attempt. Polling the receiver costs less than reloading a page.
    await waitUntil(async () => (await journey.received(path)).length > 1 || undefined, {
      describe: 'the second attempt',
      intervalMs: 500,
    })
    await page.click('.scroll a[href^="/admin/deliveries/"]')
    await pageSays('/admin/deliveries/*', 'Attempt 2: delivered')
    const deliveryId = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    expect(await page.textContent('pre[aria-label=Commands]')).toContain(`ops requeue ${deliveryId} --why`)
    expect(await ops('requeue', deliveryId, '--why', 'the owner lost it')).toContain('Created delivery')
    await pageSays('/admin/deliveries/*', 'replay 1: Delivered')
    await page.click('text=Overview')
    expect(await page.textContent('main')).toContain('the owner lost it')
  })
})
