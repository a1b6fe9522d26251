import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { catalogueFaults } from '@signet/language/checks'
import { type Chromium, launchChromium } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import { faultsOfPages, LANGUAGES, needsOfScript } from '@signet/testkit/page-walk'
import { callbackCatalogues } from '../src/sign-in/callback-page.js'
import { startCallbackServer, type CallbackServer } from '../src/sign-in/callback-server.js'

const STATE = 'the-state'
/** Where the browser comes back to, for each way a sign-in can end. */
const RECEIVED = `/callback?code=svc_once&state=${STATE}`
const DENIED = `/callback?error=access_denied&state=${STATE}`
const FOREIGN = '/callback?code=svc_x&state=foreign'

it('the texts of the callback page are complete in every language', () => {
  expect(catalogueFaults(callbackCatalogues)).toEqual([])
  const kinds = ['received', 'denied', 'foreign']
  expect(Object.keys(callbackCatalogues.en).sort()).toEqual(
    kinds.flatMap((kind) => [kind, `${kind}.text`]).sort(),
  )
})

describe('the callback page', () => {
  it('loads nothing, tells nobody its address, and shows nothing of the request', async () => {
    const server = await startCallbackServer(STATE)
    const answer = await fetch(`${new URL(server.redirectUri).origin}/callback?code=<svc_secret>&state=<no>`)
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'nonce-[^']+'; base-uri 'none'; frame-ancestors 'none'$/,
      ) as unknown,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    expect(await answer.text()).not.toMatch(/svc_secret|<no>|<script/)
    await server.close()
  })

  it('speaks German to browsers that prefer it', async () => {
    const server = await startCallbackServer(STATE)
    const headers = { 'accept-language': 'de-CH, de;q=0.9' }
    const answer = await fetch(`${new URL(server.redirectUri).origin}${RECEIVED}`, { headers })
    expect(await answer.text()).toContain('Zurück zu Ihrem Terminal')
    await server.close()
  })
})

describeInBrowser('the callback page in Chromium', () => {
  let browser: Chromium
  let servers: CallbackServer[] = []
  beforeAll(async () => {
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser.close()
    await Promise.all(servers.map((server) => server.close()))
  })

  /** One server for each way a sign-in can end, because a server answers only one callback of its own. */
  const walks = async () => {
    const made = await Promise.all([RECEIVED, DENIED, FOREIGN].map(() => startCallbackServer(STATE)))
    servers = [...servers, ...made]
    return [RECEIVED, DENIED, FOREIGN].map((path, index) => ({
      base: new URL(made[index]?.redirectUri ?? '').origin,
      paths: [path],
    }))
  }

  it('works without a script', async () => {
    for (const walk of await walks()) expect(await needsOfScript(browser, walk)).toEqual([])
  })

  it.each(LANGUAGES)('in %s is accessible and whole', async (_, language) => {
    for (const walk of await walks()) expect(await faultsOfPages(browser, { ...walk, language })).toEqual([])
  })
})
