import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import type { Page } from 'playwright-core'
import { isAccepted, redirectPairs, type Pair, type Parts } from './support/redirect-pairs.js'

const PAIRS = 100_000
const SEED = 20_261_122
/** How many URLs the page reads at a time. */
const CHUNK = 4000

describe('of 100,000 redirect targets generated from patterns and tricks', () => {
  const pairs = [...redirectPairs(PAIRS, SEED)]
  const [accepted, refused]: [Pair[], Pair[]] = [[], []]
  for (const pair of pairs) (isAccepted(pair) ? accepted : refused).push(pair)

  it('many are accepted, most with something odd in them, so the test proves something', () => {
    expect(accepted.length).toBeGreaterThan(PAIRS / 20)
    expect(accepted.length).toBeLessThan(PAIRS / 2)
    expect(new Set(accepted.map(({ url }) => url)).size).toBeGreaterThan(1000)
    expect(new Set(pairs.map(({ pattern }) => pattern)).size).toBeGreaterThan(PAIRS / 4)
  })

  it('accepted ones lead to a host that the pattern names', () => {
    expect(strayed(accepted, ({ url }) => new URL(url))).toEqual([])
  })

  it('refused ones that a browser reads as they are written lie outside the pattern', () => {
    const plain = refused.filter(({ url }) => isPlain(url))
    expect(plain.length).toBeGreaterThan(PAIRS / 20)
    expect(strayed(plain, ({ url }) => new URL(url), true)).toEqual([])
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
      const parts = new Map<string, Parts>()
      for (let sent = 0; sent < urls.length; sent += CHUNK)
        for (const [url, read] of await partsOf(page, urls.slice(sent, sent + CHUNK))) parts.set(url, read)
      expect(parts.size).toBe(urls.length)
      // A URL may be accepted for several patterns, so all pairs are compared.
      expect(strayed(accepted, ({ url }) => parts.get(url) ?? EMPTY)).toEqual([])
    })
  })
})

/** Pairs whose pattern is meant to match the URL, or is not; the first few are enough to see why. */
const strayed = (pairs: readonly Pair[], partsOf: (pair: Pair) => Parts, meant = false) =>
  pairs
    .filter((pair) => pair.means(partsOf(pair)) === meant)
    .slice(0, 20)
    .map(({ pattern, url }) => ({ pattern, url }))

/** Whether a parser changes nothing except the slash of an empty path, the host can exist, and the URL hides no control character. */
const isPlain = (url: string): boolean =>
  URL.canParse(url) && [url, `${url}/`].includes(new URL(url).href) && !/[#\\]|\/\/[-.]|\.\.|%00/.test(url)

/** Reads URLs as browsers read links and Location headers: relative to a page, with the browser's own parser. */
const partsOf = (page: Page, urls: readonly string[]) =>
  page.evaluate<[string, Parts][]>(
    `${JSON.stringify(urls)}.map((url) => {
      const { protocol, hostname, port, pathname, search, username } = Object.assign(document.createElement('a'), { href: url })
      return [url, { protocol, hostname, port, pathname, search, username }]
    })`,
  )

const EMPTY: Parts = { protocol: '', hostname: '', port: '', pathname: '', search: '', username: '' }
