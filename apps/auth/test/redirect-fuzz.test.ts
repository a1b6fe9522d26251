import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import type { Page } from 'playwright-core'
import { isAccepted, namesOrigin, redirectPairs, type Origin } from './support/redirect-pairs.js'

const PAIRS = 100_000
const SEED = 20_261_122
/** URLs that the page reads at a time. */
const CHUNK = 4000

describe('of 100,000 redirect targets generated from patterns and tricks', () => {
  const accepted = [...redirectPairs(PAIRS, SEED)].filter(isAccepted)

  it('many are accepted, most with something odd in them, so the test proves something', () => {
    expect(accepted.length).toBeGreaterThan(PAIRS / 20)
    expect(accepted.length).toBeLessThan(PAIRS / 2)
    expect(new Set(accepted.map(({ url }) => url)).size).toBeGreaterThan(1000)
  })

  it('accepted ones lead to a host that the pattern names', () => {
    expect(accepted.filter(({ pattern, url }) => !namesOrigin(pattern, new URL(url)))).toEqual([])
  })

  describeInBrowser('in Chromium', () => {
    let browser: Chromium
    beforeAll(async () => {
      browser = await launchChromium()
    })
    afterAll(() => browser.close())

    it('accepted ones lead to that host too', async () => {
      const page = await browser.newPage()
      const urls = [...new Set(accepted.map(({ url }) => url))]
      const origins = new Map<string, Origin>()
      for (let sent = 0; sent < urls.length; sent += CHUNK)
        for (const [url, origin] of await originsOf(page, urls.slice(sent, sent + CHUNK)))
          origins.set(url, origin)
      expect(origins.size).toBe(urls.length)
      // A URL may be accepted for several patterns, so all pairs are compared.
      const strayed = accepted.filter(({ pattern, url }) => !namesOrigin(pattern, origins.get(url) ?? EMPTY))
      expect(strayed).toEqual([])
    })
  })
})

/** As a link and as a Location header are read: relative to a page, by the parser of the browser itself. */
const originsOf = (page: Page, urls: readonly string[]) =>
  page.evaluate<[string, Origin][]>(
    `${JSON.stringify(urls)}.map((url) => {
      const { protocol, hostname, port } = Object.assign(document.createElement('a'), { href: url })
      return [url, { protocol, hostname, port }]
    })`,
  )

const EMPTY: Origin = { protocol: '', hostname: '', port: '' }
