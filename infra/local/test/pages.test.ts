import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { createTransport } from 'nodemailer'
import type { Page } from 'playwright-core'
import { Agent, request } from 'undici'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import { faultsOfPages, needsOfScript } from '@signet/testkit/page-walk'
import { startSandbox } from '../src/sandbox.js'

const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'
const BODY = JSON.stringify({
  id: 'evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0',
  type: 'webhook.ping',
  created_at: '2026-01-01T00:00:00.000Z',
  data: { endpoint_id: '42', message: 'This is a test event.' },
})
describeInBrowser('the pages of the local stack in Chromium', () => {
  let sandbox: Awaited<ReturnType<typeof startSandbox>>
  let browser: Chromium
  let page: Page
  beforeAll(async () => {
    sandbox = await startSandbox({ ports: { smtp: 0, inbox: 0, receiver: 0 } })
    await receive('ada@example.test', 'Your sign-in link')
    await receive(`${'long'.repeat(15)}@example.test`, 'W'.repeat(80))
    await deliver('/hooks/ada')
    await deliver(`/hooks/${'long'.repeat(20)}`)
    browser = await launchChromium()
    page = await browser.newPage()
  })
  afterAll(async () => {
    await browser.close()
    await sandbox.stop()
  })

  async function receive(to: string, subject: string): Promise<void> {
    const mail = { from: 'Signet <no-reply@signet.test>', html: '<h1>Hello</h1><p>Follow the link.</p>' }
    await createTransport({ host: '127.0.0.1', port: sandbox.inbox.smtpPort }).sendMail({
      ...mail,
      to,
      subject,
    })
  }

  async function deliver(path: string): Promise<void> {
    const agent = new Agent({ connect: { ca: sandbox.receiver.authorityCert } })
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', SECRET).update(`${timestamp}.${BODY}`).digest('hex')
    const headers = {
      'content-type': 'application/json',
      'x-service-event': 'webhook.ping',
      'x-service-timestamp': timestamp,
      'x-service-signature': `sha256=${signature}`,
    }
    const { body } = await request(sandbox.receiver.url(path), {
      dispatcher: agent,
      method: 'POST',
      body: BODY,
      headers,
    })
    await body.dump()
    await agent.close()
  }

  const paths = [
    '/',
    '/messages/1',
    '/messages/999',
    '/?q=nobody',
    '/receiver',
    '/receiver/2',
    '/receiver/999',
    '/receiver?q=nobody',
  ]

  it('filter the list and open an email with the keyboard, without a script', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const reader = await context.newPage()
    await reader.goto(sandbox.url)
    await reader.focus('#q')
    await reader.keyboard.type('ada@')
    await reader.keyboard.press('Enter')
    await reader.waitForURL(/q=ada/)
    expect(await reader.locator('[aria-label=Emails] tbody tr').count()).toBe(1)
    await reader.focus('[aria-label=Emails] a')
    await reader.keyboard.press('Enter')
    await reader.waitForURL(/messages\/1/)
    await reader.frameLocator('iframe').getByRole('heading', { name: 'Hello' }).waitFor()
    await context.close()
  })

  it('show what a delivery brought with the keyboard', async () => {
    await page.goto(`${sandbox.url}/receiver`)
    await page.getByRole('link', { name: 'Delivery 1', exact: true }).press('Enter')
    await page.getByText('"This is a test event."').waitFor()
    expect(await page.textContent('main')).toContain('x-service-signature: sha256=')
  })

  it('list what arrives by themselves, where scripts run', async () => {
    await page.goto(sandbox.url)
    await receive('late@example.test', 'Later')
    await page.getByRole('link', { name: /Later/ }).waitFor()
    await page.goto(`${sandbox.url}/receiver`)
    await deliver('/hooks/later')
    await page.getByText('/hooks/later').waitFor()
  })

  it('work without a script', async () => {
    expect(await needsOfScript(browser, { base: sandbox.url, paths })).toEqual([])
  })

  it('are accessible, whole, and load nothing from elsewhere', async () => {
    const onLook = (shown: Page, path: string, look: string) => takePicture(shown, `local${path}-${look}`)
    const walk = { base: sandbox.url, paths, language: 'en', onLook } as const
    expect(await faultsOfPages(browser, walk)).toEqual([])
  })

  /** PICTURES=<folder> saves a picture of each page there, to look at. */
  async function takePicture(shown: Page, name: string): Promise<void> {
    const folder = process.env['PICTURES']
    if (folder === undefined) return
    await shown.screenshot({ path: `${folder}/${name.replace(/\W+/g, '-')}.png`, fullPage: true })
  }
})
