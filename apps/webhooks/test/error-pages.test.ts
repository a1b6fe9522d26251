import { afterEach, describe, expect, it } from '@jest/globals'
import type { FormBrowser, Seen } from '@signet/testkit'
import { textsIn, type PageKey } from '../src/pages/texts.js'
import { englishIn, germanBrowser } from './support/german.js'
import { failingQueries } from './support/queries.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()
afterEach(() => harness.identity.failWith(null))

async function signedIn() {
  const browser = germanBrowser(harness.base)
  const user = harness.identity.addUser()
  const client = await oauth.client()
  const start = await browser.get(oauth.authorizeUrl(client.client_id))
  return { browser, user, page: await oauth.signIn(browser, start, user) }
}

/** The way back from a sign-in page whose server fails meanwhile. */
async function backFromSignIn(browser: FormBrowser, status: number): Promise<Seen> {
  const start = await browser.get('/sign-in')
  const back = harness.identity.answerTo(start.location ?? '', harness.identity.addUser())
  harness.identity.failWith({ status })
  return browser.get(back)
}

const withFailingDatabase = (browser: FormBrowser, code: string): Promise<Seen> => {
  const error = Object.assign(new Error('of the database'), { code })
  return failingQueries(harness.db, { after: 0, error }, () => browser.get(oauth.authorizeUrl('svcl_any')))
}

type Case = [what: string, key: PageKey, status: number, open: (browser: FormBrowser) => Promise<Seen>]
const cases: Case[] = [
  ['an address that leads to nothing', 'error.not_found', 404, (browser) => browser.get('/nowhere')],
  ['a method that is not allowed', 'error.method', 405, (browser) => browser.post('/sign-in', {})],
  [
    'an application that is not registered',
    'error.unregistered',
    400,
    (browser) => browser.get(oauth.authorizeUrl('svcl_unknown')),
  ],
  [
    'a request that is over',
    'error.over',
    400,
    (browser) => browser.get('/oauth/authorize/consent?txn=unknown'),
  ],
  [
    'a form that came from another site',
    'error.form',
    403,
    (browser) => browser.post('/sign-out', { csrf: 'unknown' }, { origin: 'https://evil.example' }),
  ],
  [
    'a form without a session',
    'error.signed-out',
    403,
    (browser) => browser.post('/oauth/authorize/decision', { csrf: 'unknown' }),
  ],
  [
    'a form that is too large',
    'error.too-large',
    413,
    (browser) => browser.post('/sign-out', { x: 'x'.repeat(20_000) }),
  ],
  ['an identity server that is busy', 'error.sign-in.busy', 429, (browser) => backFromSignIn(browser, 429)],
  [
    'an identity server that is down',
    'error.sign-in.unavailable',
    503,
    (browser) => backFromSignIn(browser, 500),
  ],
  [
    'a database that is down',
    'error.unavailable',
    503,
    (browser) => withFailingDatabase(browser, 'ECONNREFUSED'),
  ],
  ['a mistake of ours', 'error.internal', 500, (browser) => withFailingDatabase(browser, '42601')],
]

describe('the error page in German', () => {
  const expectGerman = (seen: Seen, key: PageKey) => {
    expect(seen.text).toContain(textsIn('de')(key))
    expect([englishIn(seen.text), seen.headers.get('content-language')]).toEqual([[], 'de'])
  }

  it.each(cases)('explains %s', async (_, key, status, open) => {
    const seen = await open(germanBrowser(harness.base))
    expect(seen.status).toBe(status)
    expectGerman(seen, key)
  })

  it('explains a form of an earlier sign-in', async () => {
    const { browser, page, user } = await signedIn()
    await browser.submit(await browser.get('/'), '/sign-out')
    await oauth.signIn(browser, await browser.get('/sign-in'), user)
    const answer = await browser.submit(page, '/decision', { decision: 'approve' })
    expect(answer.status).toBe(403)
    expectGerman(answer, 'error.other-sign-in')
  })
})
