import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createTransport } from 'nodemailer'
import type { Browser, Page } from 'playwright-core'
import { Agent, request } from 'undici'
import { accessibilityFindings, chromiumPath, launchChromium, sidewaysScroll } from '../src/browser.js'
import { type Inbox, startInbox } from '../src/inbox/index.js'
import { receiverRoutes, type Receiver, startReceiver } from '../src/receiver/index.js'

const executable = chromiumPath()
// Everywhere else these tests run; a machine without a browser says so and counts them as skipped.
const describeInBrowser = executable === null ? describe.skip : describe

const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'
const BODY = JSON.stringify({
  id: 'evt_0f8c1d2e3b4a59687786a5b4c3d2e1f0',
  type: 'webhook.ping',
  created_at: '2026-01-01T00:00:00.000Z',
  data: { endpoint_id: '42', message: 'This is a test event.' },
})

describeInBrowser('the pages of the local stack in Chromium', () => {
  let receiver: Receiver
  let inbox: Inbox
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    receiver = await startReceiver()
    inbox = await startInbox({ alsoServe: receiverRoutes(receiver) })
    const mails = createTransport({ host: '127.0.0.1', port: inbox.smtpPort })
    const mail = { from: 'Signet <no-reply@signet.test>', html: '<h1>Hello</h1><p>Follow the link.</p>' }
    await mails.sendMail({ ...mail, to: 'ada@example.test', subject: 'Your sign-in link' })
    await mails.sendMail({ ...mail, to: `${'long'.repeat(15)}@example.test`, subject: 'W'.repeat(80) })
    await deliver('/hooks/ada')
    await deliver(`/hooks/${'long'.repeat(20)}`)
    browser = await launchChromium(executable)
    page = await browser.newPage()
  })
  afterAll(async () => {
    await browser.close()
    await inbox.close()
    await receiver.close()
  })

  async function deliver(path: string): Promise<void> {
    const agent = new Agent({ connect: { ca: receiver.authorityCert } })
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', SECRET).update(`${timestamp}.${BODY}`).digest('hex')
    const headers = {
      'content-type': 'application/json',
      'x-service-event': 'webhook.ping',
      'x-service-timestamp': timestamp,
      'x-service-signature': `sha256=${signature}`,
    }
    const { body } = await request(receiver.url(path), {
      dispatcher: agent,
      method: 'POST',
      body: BODY,
      headers,
    })
    await body.dump()
    await agent.close()
  }

  it('opens a mail with the keyboard and filters the list', async () => {
    await page.goto(inbox.url)
    await page.getByLabel('Filter').fill('ada@')
    await page.getByRole('button', { name: 'Your sign-in link' }).press('Enter')
    await page.frameLocator('iframe').getByRole('heading', { name: 'Hello' }).waitFor()
    expect(await page.getByRole('navigation').getByRole('button').count()).toBe(1)
  })

  it('shows the body of a delivery with the keyboard', async () => {
    await page.goto(`${inbox.url}/receiver`)
    await page.getByRole('button', { name: 'Body of delivery 1', exact: true }).press('Enter')
    await page.getByText('"This is a test event."').waitFor()
  })

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    it.each([
      ['a phone', { width: 360, height: 740 }],
      ['a desktop', { width: 1200, height: 800 }],
    ])('on %s: accessible, nothing cut off', async (name, viewport) => {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(viewport)
      const ready = {
        '/': page.frameLocator('iframe').getByRole('heading'),
        '/receiver': page.getByRole('button', { name: 'Body of delivery 2', exact: true }),
        '/welcome': page.getByRole('heading'),
      }
      for (const [path, sign] of Object.entries(ready)) {
        await page.goto(inbox.url + path)
        await sign.first().waitFor()
        await takePicture(`local-${path.slice(1)}-${colorScheme}-${viewport.width}`)
        const seen = { path, findings: await accessibilityFindings(page), scroll: await sidewaysScroll(page) }
        expect({ name, ...seen }).toEqual({ name, path, findings: [], scroll: 0 })
      }
    })
  })

  /** For a look at the pages: PICTURES=<folder> keeps one of each. */
  async function takePicture(name: string): Promise<void> {
    const folder = process.env['PICTURES']
    if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
  }
})
