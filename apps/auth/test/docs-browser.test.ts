import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { accessibilityFindings, chromiumPath, launchChromium, sidewaysScroll } from '@signet/local/browser'
import { DocsReader } from '@signet/testkit/browser'
import type { Browser, BrowserContextOptions } from 'playwright-core'
import { aUser } from './support/api.js'
import type { TestServer } from './support/server.js'
import { startUi } from './ui/support.js'

const executable = chromiumPath()
const describeInBrowser = executable === null ? describe.skip : describe

describeInBrowser('the API page of the identity server in Chromium', () => {
  let server: TestServer
  let browser: Browser
  let reader: DocsReader
  beforeAll(async () => {
    server = await startUi({ AUTH_MAILER_AUTOCONFIRM: 'true' })
    browser = await launchChromium(executable)
  })
  afterAll(async () => {
    await browser.close()
    await server.close()
  })
  afterEach(() => reader.close())

  const open = async (options: BrowserContextOptions = {}) => {
    reader = await DocsReader.open(browser, server.url, options)
  }

  it('sends a request with the token that was typed, and shows the answer', async () => {
    const { access_token: token, email } = await aUser(server)
    await open()
    const answer = await reader.tryIt('getUser', { token })
    expect(answer.status).toBe('200 OK')
    expect(JSON.parse(answer.text ?? '')).toMatchObject({ email })
    expect(await reader.traces()).not.toContain(token)
    expect(reader.foreign).toEqual([])
  })

  it('sends a body and parameters of the query, as a reader changed them', async () => {
    const { email, password } = await aUser(server)
    await open()
    const answer = await reader.tryIt('createSession', {
      values: { grant_type: 'password' },
      body: JSON.stringify({ email, password }),
    })
    expect(answer.status).toBe('200 OK')
    expect(JSON.parse(answer.text ?? '')).toMatchObject({ user: { email } })
  })

  it('shows a refused token, a missing one and a broken connection as text', async () => {
    await open()
    expect(await reader.tryIt('getUser')).toMatchObject({
      status: '401 Unauthorized (sent without a token)',
      text: expect.stringContaining('no_authorization'),
    })
    expect(await reader.tryIt('getUser', { token: 'invalid' })).toMatchObject({
      status: '403 Forbidden',
      text: expect.stringContaining('bad_jwt'),
    })
    await reader.page.context().setOffline(true)
    expect(await reader.tryIt('getUser')).toMatchObject({
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
    await reader.tabTo('a[href="#getUser"]')
    await reader.page.keyboard.press('Enter')
    await reader.tabTo('#getUser details:has(form) > summary')
    await reader.page.keyboard.press('Enter')
    await reader.tabTo('#getUser form button')
    const outline = await reader.page.evaluate<string>(
      'getComputedStyle(document.activeElement).outlineStyle',
    )
    expect(outline).toBe('solid')
    await reader.page.keyboard.press('Enter')
    expect((await reader.answerOf('getUser')).status).toBe('401 Unauthorized (sent without a token)')
    await reader.tabTo('#getUser pre')
  })

  it('is read without script, on a phone too: contents, anchors and members, and no form', async () => {
    await open({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } })
    const { page } = reader
    await page.getByText('Contents', { exact: true }).click()
    await page.getByRole('navigation').getByRole('link', { name: 'The signed-in user', exact: true }).click()
    await page.waitForURL('**/docs#getUser')
    const operation = reader.operation('getUser')
    expect(await operation.getByText('/user', { exact: true }).isVisible()).toBe(true)
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
      .getByRole('link', { name: 'The signed-in user', exact: true })
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
      await reader.tryIt('getUser')
      expect(await sidewaysScroll(reader.page)).toBe(0)
      expect(await reader.sidewaysParts()).toEqual([])
      expect(await accessibilityFindings(reader.page)).toEqual([])
      expect(reader.foreign).toEqual([])
    })
  })
})
