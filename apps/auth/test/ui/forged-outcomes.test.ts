import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { FormBrowser } from '@signet/testkit'
import { anEmail, aUser, mailTo, post } from '../support/api.js'
import { anOperator } from '../support/operator.js'
import { admin } from '../support/proof-site.js'
import type { TestServer } from '../support/server.js'
import { statusOf } from './account-support.js'
import { aBrowser, followLink, noticeOf, outcomeQuery, startUi, submitted } from './support.js'

let server: TestServer
beforeAll(async () => {
  server = await startUi({
    AUTH_UI_OPERATOR_ENABLED: 'true',
    AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
  })
})
afterAll(() => server.close())

/**
 * Signs in someone who has no password and so confirms deletions and new passwords with codes. Then time passes, so that the sign-in is
 * old.
 */
async function signedIn(browser = aBrowser(server)): Promise<FormBrowser> {
  const email = anEmail()
  await post(server, '/admin/users', { email, email_confirm: true }, admin)
  await submitted(browser, await browser.get('/ui'), '/ui/mail', { identifier: email })
  await followLink(browser, (await mailTo(server, email)).link ?? '')
  server.clock.advance(1_200_000)
  return browser
}

/** What a forged link may claim: the names that pages use, and a query that another browser was given. */
const claims = async (done: string): Promise<string[]> => [
  `?done=${done}`,
  `?${done}`,
  '?made=1&sent=1&asks=nonce',
  outcomeQuery(server, await signedIn(), done),
]

describe('a link from elsewhere cannot make a page say that something happened', () => {
  it.each([
    ['/ui', 'password'],
    ['/ui/account', 'password'],
    ['/ui/account', 'passkey-removed'],
    ['/ui/account/recovery-codes', 'recovery-codes'],
    ['/ui/account/delete', 'deletion-code'],
    ['/ui/password', 'password-code'],
  ])('%s: %s', async (path, done) => {
    const browser = await signedIn()
    const said = await browser.get(`${path}${outcomeQuery(server, browser, done)}`)
    expect(statusOf(said) ?? noticeOf(said)).toBeDefined()
    for (const claim of await claims(done)) {
      const page = await browser.get(`${path}${claim}`)
      expect([page.status, statusOf(page), noticeOf(page)]).toEqual([200, undefined, undefined])
    }
  })

  it.each([
    ['/link/changed', '/link/changed'],
    ['/link/half-confirmed', '/link/half-confirmed'],
    ['/link/confirmed', '/link/confirmed'],
    ['/account/deleted', 'deleted'],
  ])('/ui%s is for the browser in which it happened', async (path, done) => {
    const browser = aBrowser(server)
    await browser.get('/ui')
    for (const claim of await claims(done))
      expect((await browser.get(`/ui${path}${claim}`)).location).toBe('/ui')
    const own = await browser.get(`/ui${path}${outcomeQuery(server, browser, done)}`)
    expect(own.status).toBe(200)
  })

  it('in a flow through a provider that did not begin here', async () => {
    const browser = await signedIn()
    for (const claim of await claims('left-for-provider')) {
      for (const error of ['error=access_denied&error_code=user_banned', 'error=access_denied']) {
        const page = await browser.get(`/ui/return${claim}&${error}`)
        expect(noticeOf(page)).toBe('Something went wrong. Please try again.')
      }
    }
    const own = outcomeQuery(server, browser, 'left-for-provider')
    const page = await browser.get(`/ui/return${own}&error=access_denied&error_code=user_banned`)
    expect(noticeOf(page)).toBe('This account is banned.')
  })

  it('about somebody, to an operator', async () => {
    const { browser } = await anOperator(server)
    const path = `/ui/operator/users/${(await aUser(server)).user.id}`
    for (const claim of await claims('banned'))
      expect(statusOf(await browser.get(`${path}${claim}`))).toBeUndefined()
    expect(statusOf(await browser.get(`${path}${outcomeQuery(server, browser, 'banned')}`))).toBeDefined()
  })

  it.each([
    ['/ui', 'password'],
    ['/ui/account', 'factor'],
    ['/ui/account/recovery-codes', 'recovery-codes'],
    ['/ui/account/delete', 'deletion-code'],
    ['/ui/password', 'password-code'],
  ])('to the next person at the browser, from its history: %s: %s', async (path, done) => {
    const browser = await signedIn()
    const query = outcomeQuery(server, browser, done)
    browser.cookies.delete('signet_ui_session')
    await signedIn(browser)
    const page = await browser.get(`${path}${query}`)
    expect([page.status, statusOf(page), noticeOf(page)]).toEqual([200, undefined, undefined])
  })

  it('an hour later either, from the history of the browser', async () => {
    const browser = await signedIn()
    const query = outcomeQuery(server, browser, 'password')
    expect(statusOf(await browser.get(`/ui${query}`))).toBe('Your password was changed.')
    server.clock.advance(3_600_000)
    expect(statusOf(await browser.get(`/ui${query}`))).toBeUndefined()
  })
})
