import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import type { Browser } from 'playwright-core'
import { isAccepted, namesOrigin, redirectPairs, type Origin } from './support/redirect-pairs.js'

const PAIRS = 100_000
const SEED = 20_261_122

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
    let browser: Browser
    beforeAll(async () => {
      browser = await launchChromium()
    })
    afterAll(() => browser.close())

    it('accepted ones lead to that host too', async () => {
      const page = await browser.newPage()
      const urls = [...new Map(accepted.map((pair) => [pair.url, pair])).values()].slice(0, 5000)
      // As a link and as a Location header are read: relative to a page, by the parser of the browser itself.
      const origins = await page.evaluate<Origin[]>(
        `${JSON.stringify(urls.map(({ url }) => url))}.map((url) => {
          const { protocol, hostname, port } = Object.assign(document.createElement('a'), { href: url })
          return { protocol, hostname, port }
        })`,
      )
      expect(origins).toHaveLength(urls.length)
      expect(urls.filter(({ pattern }, index) => !namesOrigin(pattern, origins[index] ?? EMPTY))).toEqual([])
    })
  })
})

const EMPTY: Origin = { protocol: '', hostname: '', port: '' }
