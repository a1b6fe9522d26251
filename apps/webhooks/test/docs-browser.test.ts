import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { accessibilityFindings, chromiumPath, launchChromium, sidewaysScroll } from '@signet/local/browser'
import { DocsReader } from '@signet/testkit/browser'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { aToken } from './support/access-token.js'
import { startHarness, type Harness } from './support/harness.js'

const executable = chromiumPath()
const describeInBrowser = executable === null ? describe.skip : describe

describeInBrowser('the API page of the webhooks service in Chromium', () => {
  let harness: Harness
  let browser: Browser
  let reader: DocsReader
  beforeAll(async () => {
    harness = await startHarness({ env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' } })
    browser = await launchChromium(executable)
  })
  afterAll(async () => {
    await browser.close()
    await harness.close()
  })
  afterEach(() => reader.close())

  const open = async (options: BrowserContextOptions = {}) => {
    reader = await DocsReader.open(browser, harness.base, options)
  }

  it('sends a request with the token that was typed, and shows the answer', async () => {
    const token = await aToken(harness.db, harness.identity.addUser().id)
    await open()
    const body = JSON.stringify({ url: 'https://127.0.0.1/hooks', events: ['summary.completed'] })
    const created = await reader.tryIt('createWebhook', { token, body })
    expect(created.status).toBe('200 OK')
    const { endpoint_id } = JSON.parse(created.text ?? '') as { endpoint_id: string }
    const found = await reader.tryIt('getWebhook', { values: { endpoint_id } })
    expect(JSON.parse(found.text ?? '')).toMatchObject({
      item: { id: endpoint_id, url: 'https://127.0.0.1/hooks' },
    })
    expect(await reader.traces()).not.toContain(token)
    expect(reader.foreign).toEqual([])
  })

  it('sends the body of an OAuth request as a form', async () => {
    await open()
    const body = JSON.stringify({ grant_type: 'authorization_code', client_id: 'svcl_nobody', code: 'none' })
    const answer = await reader.tryIt('createOAuthToken', { body })
    expect(answer.text).toContain('"error": "invalid_client"')
    expect(await reader.tryIt('createOAuthToken', { body: 'grant_type=none' })).toMatchObject({
      status: expect.stringContaining('the body is not JSON'),
      text: '',
    })
  })

  it('shows a refused token, a missing one and a broken connection as text', async () => {
    await open()
    expect(await reader.tryIt('listWebhooks')).toMatchObject({
      status: '401 Unauthorized (sent without a token)',
      text: expect.stringContaining('unauthorized'),
    })
    expect(await reader.tryIt('listWebhooks', { token: 'not a token' })).toMatchObject({
      status: '401 Unauthorized',
      text: expect.stringContaining('unauthorized'),
    })
    await reader.page.context().setOffline(true)
    expect(await reader.tryIt('listWebhooks')).toMatchObject({
      status: expect.stringMatching(/^The request could not be sent: ./),
      text: '',
    })
  })

  it('shows markup that comes back as text', async () => {
    await open()
    const answer = await reader.tryIt('getDocsPage')
    expect(answer.text).toContain('<h1>')
    expect(answer.elements).toBe(0)
  })

  it('is used with the keyboard: from the contents to an operation, its form and its answer', async () => {
    await open()
    await reader.tabTo('a[href="#listWebhooks"]')
    await reader.page.keyboard.press('Enter')
    await reader.tabTo('#listWebhooks details:has(form) > summary')
    await reader.page.keyboard.press('Enter')
    await reader.tabTo('#listWebhooks form button')
    const outline = await reader.page.evaluate<string>(
      'getComputedStyle(document.activeElement).outlineStyle',
    )
    expect(outline).toBe('solid')
    await reader.page.keyboard.press('Enter')
    expect((await reader.answerOf('listWebhooks')).status).toBe('401 Unauthorized (sent without a token)')
    await reader.tabTo('#listWebhooks pre')
  })

  it('is read without script, on a phone too: contents, anchors and members, and no form', async () => {
    await open({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } })
    const { page } = reader
    await page.getByText('Contents', { exact: true }).click()
    await page.getByRole('navigation').getByRole('link', { name: 'List subscriptions', exact: true }).click()
    await page.waitForURL('**/docs#listWebhooks')
    const operation = reader.operation('listWebhooks')
    expect(await operation.getByText('/v1/webhooks', { exact: true }).isVisible()).toBe(true)
    await operation.locator('.answer > summary').first().click()
    expect(await operation.getByRole('row').first().isVisible()).toBe(true)
    await operation.getByText('Try it').click()
    expect(await operation.getByText('needs its script').isVisible()).toBe(true)
    expect(await page.locator('form:visible, input:visible').count()).toBe(0)
  })

  it('has its contents open beside the page on a desktop, and headings that skip no level', async () => {
    await open({ javaScriptEnabled: false })
    const link = reader.page
      .getByRole('navigation')
      .getByRole('link', { name: 'List subscriptions', exact: true })
    expect(await link.isVisible()).toBe(true)
    const levels = await reader.headingLevels()
    expect(levels.filter((level) => level === 1)).toHaveLength(1)
    expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([])
  })

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    it.each([
      ['a phone', { width: 360, height: 740 }],
      ['a desktop', { width: 1100, height: 760 }],
    ])('on %s: accessible, nothing cut off, nothing external', async (_, viewport) => {
      await open({ colorScheme, viewport })
      expect(await sidewaysScroll(reader.page)).toBe(0)
      await reader.openEverything()
      await reader.tryIt('listWebhooks')
      expect(await sidewaysScroll(reader.page)).toBe(0)
      expect(await reader.sidewaysParts()).toEqual([])
      expect(await accessibilityFindings(reader.page)).toEqual([])
      expect(reader.foreign).toEqual([])
    })
  })
})
