import { afterEach, beforeEach, expect, it } from '@jest/globals'
import type { BrowserContext } from 'playwright-core'
import { describeInBrowser } from './browser.js'
import { type Chromium, launchChromium } from './chromium.js'
import { waitFor } from './wait-for.js'

const processOf = (context: BrowserContext) => context.browser()

describeInBrowser('a Chromium for all who launch one', () => {
  let first: Chromium
  let second: Chromium
  beforeEach(async () => {
    ;[first, second] = await Promise.all([launchChromium(), launchChromium()])
  })
  afterEach(() => Promise.all([first.close(), second.close()]))

  it('is one process', async () => {
    const contexts = [await first.newContext(), (await second.newPage()).context()]
    expect(contexts.map(processOf)).toEqual([expect.anything(), processOf(contexts[0]!)])
  })

  it('closes to one of them what that one opened, and nothing else', async () => {
    const others = await second.newPage()
    const page = await first.newPage()
    const context = await first.newContext()
    await first.close()
    await first.close()
    expect(page.isClosed()).toBe(true)
    await expect(context.newPage()).rejects.toThrow(/closed/)
    expect(processOf(others.context())?.contexts()).toEqual([others.context()])
    expect(await others.evaluate('1 + 1')).toBe(2)
  })

  it('is another process when the one before has crashed', async () => {
    const crashed = processOf(await first.newContext())
    const devtools = await crashed?.newBrowserCDPSession()
    await devtools?.send('Browser.crash').catch(() => undefined)
    await waitFor(() => crashed?.isConnected() === false, { describe: 'the end of the browser' })
    const third = await launchChromium()
    const page = await third.newPage()
    expect(await page.evaluate('1 + 1')).toBe(2)
    expect(processOf(page.context())).not.toBe(crashed)
    await third.close()
  })
})
