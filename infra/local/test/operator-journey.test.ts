import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import { reply } from '../src/receiver/index.js'
import { waitUntil } from '../src/wait-until.js'
import { connectApplication } from '../src/walkthrough/connect.js'
import { sendTestEvent, subscribe } from '../src/walkthrough/deliveries.js'
import { setHook } from '../src/walkthrough/receiver-client.js'
import { signUp } from '../src/walkthrough/sign-up.js'
import { repository, runningStack, type RunningStack } from './support/running-stack.js'

const REASON = 'the receiver is being mended'

/** An operator follows one event from a failure to its delivery, on the pages and with the command that they name. */
describeInBrowser('an operator', () => {
  let stack: RunningStack
  let browser: Browser
  let page: Page
  let base: string
  let envFile: string
  beforeAll(async () => {
    stack = await runningStack()
    envFile = join(stack.folder, '.data/env/dispatcher.env')
    const settings = readFileSync(envFile, 'utf8')
    const setting = (name: string) => new RegExp(`^${name}=["']?([^"'\\n]*)`, 'm').exec(settings)?.[1] ?? ''
    base = `http://localhost:${setting('DISPATCHER_PORT')}`
    browser = await launchChromium()
    const credentials = { username: 'grace', password: setting('DISPATCHER_ADMIN_TOKEN') }
    page = await browser.newPage({ httpCredentials: credentials, viewport: { width: 1100, height: 800 } })
  })
  afterAll(async () => {
    await browser.close()
    await stack.stop()
  })

  /** What `ops` prints. */
  async function ops(...argv: string[]): Promise<string> {
    const main = join(repository, 'apps/dispatcher/dist/main.js')
    const argumentsOfNode = [`--env-file=${envFile}`, main, 'ops', ...argv, '--by', 'grace']
    return (await promisify(execFile)(process.execPath, argumentsOfNode)).stdout
  }

  /** Reloads the page at this path until it says this. */
  async function pageSays(path: string, text: string): Promise<void> {
    // Chromium refuses to reload a page that it is about to replace with the next one.
    await page.waitForURL(`${base}${path}`)
    await waitUntil(
      async () => {
        await page.reload()
        return (await page.textContent('main'))?.includes(text) || undefined
      },
      { describe: `"${text}" on the page` },
    )
  }

  it('sees why an event fails, pauses until the receiver is mended, and sees it arrive and come again', async () => {
    const { world } = stack
    const person = await signUp(world, 'followed')
    const connection = await connectApplication(world, person)
    const subscription = await subscribe(world, connection, 'followed')
    const { endpointId, path, secret } = subscription
    await setHook(world, path, { secret, otherwise: reply(503, { body: 'the disk is full' }) })
    const eventId = await sendTestEvent({ world, connection, subscription })

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
    expect(await page.textContent('main')).toContain('1 failure in a row')
    await setHook(world, path, { secret })
    await ops('resume', '--why', 'it is mended')

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
