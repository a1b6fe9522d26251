import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aUser, mailTo, PASSWORD, post, put } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { onAccount, startAccount, statusOf } from './account-support.js'
import { aBrowser, followLink, noticeOf, signIn, submitted } from './support.js'

const NEW = 'another horse battery'
const HOUR = 3_600_000

let server: TestServer
beforeAll(async () => {
  ;({ server } = await startAccount({ AUTH_UI_SESSION_DURATION: '12h' }))
})
afterAll(() => server.close())

const opens = async (email: string, password: string) =>
  (await post(server, '/token?grant_type=password', { email, password })).status === 200

describe('a new password on the account page', () => {
  const later = async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user)
    server.clock.advance(HOUR)
    const page = await browser.get('/ui/password?next=account')
    return { user, browser, page }
  }

  it('is set right after signing in, says so, and tells the owner', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user)
    const page = await browser.get('/ui/password?next=account')
    expect(page.text).not.toContain('Current password')
    const done = await submitted(browser, page, '/ui/password', { password: NEW })
    expect(statusOf(done)).toBe('Your password was changed.')
    await server.inbox.waitForMail({ to: user.email, subject: 'Your password was changed' })
  })

  it('cannot be set by a stranger who finds the browser open', async () => {
    const { user, browser, page } = await later()
    const proofs: Record<string, string>[] = [
      {},
      { current_password: 'wrong password' },
      { nonce: '000000' },
      { asks: '' },
    ]
    for (const proof of proofs) {
      const refused = await submitted(browser, page, '/ui/password', { password: NEW, ...proof })
      expect(noticeOf(refused)).toBeDefined()
    }
    expect(await opens(user.email, PASSWORD)).toBe(true)
  })

  it('needs the current password later on', async () => {
    const { user, browser, page } = await later()
    expect(page.text).toContain('Current password')
    const done = await submitted(browser, page, '/ui/password', {
      password: NEW,
      current_password: PASSWORD,
    })
    expect(statusOf(done)).toBe('Your password was changed.')
    expect(await opens(user.email, NEW)).toBe(true)
  })

  it('needs a code instead where the current one is forgotten, which works once', async () => {
    const { user, browser, page } = await later()
    const before = (await mailTo(server, user.email)).mail
    const asked = await submitted(browser, page, '/ui/password/code')
    const { code = '' } = await mailTo(server, user.email, before)
    const wrong = await submitted(browser, asked, '/ui/password', { password: NEW, nonce: '000000' })
    expect(noticeOf(wrong)).toBeDefined()
    const done = await submitted(browser, wrong, '/ui/password', { password: NEW, nonce: code })
    expect(statusOf(done)).toBe('Your password was changed.')
    server.clock.advance(HOUR)
    const again = await browser.get('/ui/password?next=account')
    await submitted(browser, again, '/ui/password', { password: 'a third battery', nonce: code })
    expect(await opens(user.email, NEW)).toBe(true)
  })

  it('needs neither after a link for a forgotten one, and a code when that is long ago', async () => {
    for (const wait of [0, HOUR]) {
      const user = await aUser(server)
      const browser = aBrowser(server)
      await submitted(browser, await browser.get('/ui/forgot'), '/ui/forgot', { email: user.email })
      const mail = await server.inbox.waitForMail({ to: user.email, subject: 'Reset your password' })
      const link = mail.links.find((url) => url.includes('token=')) ?? ''
      const page = await followLink(browser, link)
      server.clock.advance(wait)
      const password = `${NEW} ${wait}`
      const sent = await submitted(browser, page, '/ui/password', { password })
      expect([wait, sent.text.includes('name="nonce"')]).toEqual([wait, wait > 0])
      expect([wait, await opens(user.email, password)]).toEqual([wait, wait === 0])
    }
  })

  it('follows the settings alone for callers of the API', async () => {
    const user = await aUser(server)
    const { access_token: token } = (
      await post(server, '/token?grant_type=password', { email: user.email, password: PASSWORD })
    ).body as { access_token: string }
    server.clock.advance(HOUR / 2)
    expect((await put(server, '/user', { password: NEW }, { token })).status).toBe(200)
  })
})

describe('a form from before somebody signed in or out in another tab', () => {
  it('says so and leads back with what was typed, but never with a password', async () => {
    const [first, second] = [await aUser(server), await aUser(server)]
    const { browser } = await onAccount(server, first)
    const page = await browser.get('/ui/account/email')
    await submitted(browser, await browser.get('/ui/account'), '/ui/sign-out')
    await signIn(browser, { ...second, password: PASSWORD })
    const stale = await browser.submit(
      page,
      '/ui/account/email',
      { email: 'typed@example.com', password: PASSWORD },
      { referer: page.url },
    )
    expect(stale.status).toBe(403)
    expect(stale.text).toContain('signed in or out in this browser')
    const back = /class="button" href="([^"]*)"/.exec(stale.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(new URL(back, page.url).pathname).toBe('/ui/account/email')
    expect(back).not.toContain('typed')
    const again = await browser.get(back)
    expect(again.text).toContain('value="typed@example.com"')
    expect(again.text).toContain(second.email)
    expect(again.text).not.toContain(PASSWORD)
    // Another browser does not show what this one kept.
    const other = await onAccount(server, first)
    expect((await other.browser.get(back)).text).not.toContain('typed@example.com')
  })

  it('stays refused as foreign where the browser never had it', async () => {
    const { browser } = await onAccount(server, await aUser(server))
    const page = await browser.get('/ui/account/email')
    const { browser: other } = await onAccount(server, await aUser(server))
    const sent = await other.submit(page, '/ui/account/email', { email: 'typed@example.com' })
    expect([sent.status, sent.text.includes('in another tab')]).toEqual([403, false])
  })
})
