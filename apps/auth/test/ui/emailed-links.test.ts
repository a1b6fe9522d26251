import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { FormBrowser, Seen } from '@signet/testkit'
import { anEmail, aUser, mailTo, PASSWORD, post } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import {
  aBrowser,
  APPLICATION,
  followLink,
  noticeOf,
  openLink,
  pkce,
  settle,
  signIn,
  startUi,
  submitted,
  uiPath,
} from './support.js'

const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

let server: TestServer
beforeAll(async () => {
  server = await startUi()
})
afterAll(() => server.close())

const numberOn = (text: string) => /type the number <strong>(\d\d)<\/strong>/.exec(text)?.[1] ?? ''
const urlIn = ({ text }: Seen, name: string) =>
  new RegExp(`data-${name}="([^"]*)"`).exec(text)?.[1]?.replaceAll('&#38;', '&') ?? ''
const selfOf = (waiting: Seen) => urlIn(waiting, 'then')
const isSignedIn = async (browser: FormBrowser, email: string) =>
  (await browser.get('/ui')).text.includes(`as <strong>${email}</strong>`)

/** Requests a sign-in link in one browser, and returns the link and the page that waits in that browser. */
async function askedFor(email: string, query: Record<string, string> = {}) {
  const browser = aBrowser(server, FIREFOX)
  const before = (await mailTo(server, email)).mail
  const page = await browser.get(uiPath(query))
  const waiting = await submitted(browser, page, '/ui/mail', { identifier: email })
  const { link = '', code = '' } = await mailTo(server, email, before)
  return { browser, waiting, link, code, number: numberOn(waiting.text) }
}

describe('a link of the pages', () => {
  it('survives programs that look at links, and then works once', async () => {
    const user = await aUser(server)
    const { browser, link } = await askedFor(user.email)
    for (let i = 0; i < 3; i += 1) {
      const scanner = aBrowser(server)
      const [head, get] = await Promise.all(
        ['HEAD', 'GET'].map((method) => fetch(link, { method, redirect: 'manual' })),
      )
      expect([head?.status, head?.headers.get('location')]).toEqual([303, get?.headers.get('location')])
      const seen = await openLink(scanner, link)
      expect([seen.status, seen.headers.get('x-frame-options')]).toEqual([200, 'DENY'])
    }
    const page = await openLink(browser, link)
    expect(page.text).toContain(`Continue as <bdi>${user.email}</bdi>?`)
    const answers = await Promise.all(Array.from({ length: 6 }, () => browser.submit(page, '/ui/link')))
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403, 403, 403, 403])
    expect((await openLink(aBrowser(server), link)).text).toContain('This link does not work')
    // A reload in the browser that used it does not fail.
    const winner = await settle(browser, answers.find(({ status }) => status === 303) ?? page)
    expect(winner.text).toContain('You are signed in')
  })

  it('of a stranger’s sign-up lets the owner, who signed up too, choose a password instead of applying the stranger’s', async () => {
    const email = anEmail()
    const signUp = async (browser: FormBrowser, password: string) =>
      submitted(browser, await browser.get('/ui/sign-up'), '/ui/sign-up', { identifier: email, password })
    await signUp(aBrowser(server, FIREFOX), `${PASSWORD} of a stranger`)
    const { link = '' } = await mailTo(server, email)
    const owner = aBrowser(server)
    await signUp(owner, `${PASSWORD} of the owner`)
    const page = await openLink(owner, link)
    expect(page.text).toContain('Choose a new password here')
    expect((await submitted(owner, page, '/ui/link')).text).toContain('Choose a new password')
    const signIn = await post(server, '/token?grant_type=password', {
      email,
      password: `${PASSWORD} of a stranger`,
    })
    expect(signIn.status).toBe(400)
  })

  it('says who asked for it, where it is opened in another browser, and signs in there', async () => {
    const user = await aUser(server)
    const { browser, link } = await askedFor(user.email, { redirect_to: APPLICATION, ...pkce().query })
    server.clock.advance(120_000)
    const other = aBrowser(server)
    const page = await openLink(other, link)
    for (const fact of ['Firefox on Linux', '127.0.0.1', 'The network of this device', '2 minutes ago'])
      expect(page.text).toContain(fact)
    const done = await submitted(other, page, '/ui/link')
    // The application waits in the first browser, because only that one has the verifier.
    expect([done.location, await isSignedIn(other, user.email)]).toEqual([null, true])
    expect(await isSignedIn(browser, user.email)).toBe(false)
  })

  it('lets the code be typed while the page of the link is open elsewhere', async () => {
    const user = await aUser(server)
    const { browser, waiting, link, code } = await askedFor(user.email)
    const other = aBrowser(server)
    const page = await openLink(other, link)
    expect((await submitted(browser, waiting, '/ui/code', { code })).text).toContain('You are signed in')
    expect((await other.submit(page, '/ui/link')).status).toBe(403)
  })

  it('warns a person who is signed in to another account, and changes nothing until the button is pressed', async () => {
    const [victim, attacker] = [await aUser(server), await aUser(server)]
    const { link } = await askedFor(attacker.email)
    const browser = aBrowser(server)
    await signIn(browser, victim)
    const page = await openLink(browser, link)
    expect(page.text).toContain(`You are signed in here as <strong>${victim.email}</strong>`)
    expect(await isSignedIn(browser, victim.email)).toBe(true)
    // Another site cannot submit the form, because it has no CSRF token of this browser.
    const forged = await browser.post('/ui/link', { ...Object.fromEntries(new URL(link).searchParams) })
    expect([forged.status, await isSignedIn(browser, victim.email)]).toEqual([403, true])
  })

  it('confirms a new account from another browser', async () => {
    const email = anEmail()
    const browser = aBrowser(server)
    const form = await browser.get(uiPath({}, '/sign-up'))
    const waiting = await submitted(browser, form, '/ui/sign-up', { identifier: email, password: PASSWORD })
    const page = await openLink(aBrowser(server), (await mailTo(server, email)).link ?? '')
    expect(page.text).toContain(email)
    const laptop = aBrowser(server)
    const opened = await openLink(laptop, (await mailTo(server, email)).link ?? '')
    const confirmed = await submitted(laptop, opened, '/ui/link/confirm', { number: numberOn(waiting.text) })
    expect(confirmed.text).toContain('Your other device can continue')
    const status = urlIn(waiting, 'status')
    expect((await browser.get(status)).text).toBe('{"confirmed":true}')
    const self = selfOf(waiting)
    expect((await settle(browser, await browser.get(self))).text).toContain(`as <strong>${email}</strong>`)
    expect(await isSignedIn(laptop, email)).toBe(false)
  })

  it('continues on the page that waits for it, and on no other page of an attacker who has the cookies of that browser', async () => {
    const [user, thief] = [await aUser(server), await aUser(server)]
    const away = await askedFor(thief.email)
    const browser = aBrowser(server)
    for (const [name, value] of away.browser.cookies) browser.cookies.set(name, value)
    const before = (await mailTo(server, user.email)).mail
    const page = await browser.get('/ui')
    const waiting = await submitted(browser, page, '/ui/mail', { identifier: user.email })
    const phone = aBrowser(server)
    const opened = await openLink(phone, (await mailTo(server, user.email, before)).link ?? '')
    const number = numberOn(waiting.text)
    expect((await phone.submit(opened, '/ui/link/confirm', { number })).status).toBe(303)
    expect((await away.browser.get(urlIn(away.waiting, 'status'))).text).toBe('{"confirmed":false}')
    await settle(away.browser, await away.browser.get(selfOf(away.waiting)))
    expect(await isSignedIn(away.browser, user.email)).toBe(false)
    expect((await browser.get(urlIn(waiting, 'status'))).text).toBe('{"confirmed":true}')
    await settle(browser, await browser.get(selfOf(waiting)))
    expect(await isSignedIn(browser, user.email)).toBe(true)
  })

  it('continues on a page that asked again too soon, with the message that was already sent', async () => {
    const user = await aUser(server)
    const { browser, link, number } = await askedFor(user.email)
    const again = await submitted(browser, await browser.get('/ui'), '/ui/mail', { identifier: user.email })
    expect(numberOn(again.text)).toBe(number)
    const phone = aBrowser(server)
    const opened = await openLink(phone, link)
    expect((await phone.submit(opened, '/ui/link/confirm', { number })).status).toBe(303)
    await settle(browser, await browser.get(selfOf(again)))
    expect(await isSignedIn(browser, user.email)).toBe(true)
  })

  it('goes on once, however often the waiting page is opened at the same time', async () => {
    const user = await aUser(server)
    const { browser, waiting, link, number } = await askedFor(user.email, { redirect_to: APPLICATION })
    const other = aBrowser(server)
    const confirmed = await other.submit(await openLink(other, link), '/ui/link/confirm', { number })
    expect(confirmed.status).toBe(303)
    server.clock.advance(1000)
    const self = selfOf(waiting)
    const seen = await Promise.all(Array.from({ length: 5 }, () => browser.get(self)))
    expect(seen.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 303])
    // The slower tabs continue when they are reloaded.
    expect((await browser.get(self)).location).toContain(`${APPLICATION}#access_token=`)
  })

  it('does not serve a stranger who asked for it: without the number, with one attempt', async () => {
    const user = await aUser(server)
    const { browser: stranger, waiting, link, code, number } = await askedFor(user.email)
    const victim = aBrowser(server)
    const page = await openLink(victim, link)
    expect(page.text).not.toMatch(new RegExp(`>\\s*${number}\\s*<|value="${number}"`))
    const guess = number === '99' ? '98' : '99'
    const refused = await victim.submit(page, '/ui/link/confirm', { number: guess })
    expect([refused.status, noticeOf(refused)]).toEqual([422, expect.stringContaining('no longer works')])
    expect((await victim.submit(page, '/ui/link/confirm', { number })).status).toBe(403)
    expect((await victim.submit(page, '/ui/link')).status).toBe(403)
    expect((await submitted(stranger, waiting, '/ui/code', { code: '' })).text).not.toContain(
      'You are signed in',
    )
    expect(await isSignedIn(stranger, user.email)).toBe(false)
    // The code of the email still works where it is typed.
    const typed = await submitted(stranger, waiting, '/ui/code', { code })
    expect(typed.text).toContain('You are signed in')
  })

  it('gives the session to one device: pressing both buttons at once has one winner', async () => {
    const user = await aUser(server)
    const { browser, waiting, link, number } = await askedFor(user.email)
    const other = aBrowser(server)
    const page = await openLink(other, link)
    const answers = await Promise.all([
      ...Array.from({ length: 3 }, () => other.submit(page, '/ui/link')),
      ...Array.from({ length: 3 }, () => other.submit(page, '/ui/link/confirm', { number })),
    ])
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1)
    const self = selfOf(waiting)
    await settle(browser, await browser.get(self))
    const signedIn = [await isSignedIn(browser, user.email), await isSignedIn(other, user.email)]
    expect(signedIn.filter(Boolean)).toHaveLength(1)
  })

  it('of an application cannot sign in on the pages, no matter what its URL says', async () => {
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    await post(server, '/magiclink', { email: user.email, ...pkce().query })
    const { link = '' } = await mailTo(server, user.email, before)
    const asked = new URL((await askedFor((await aUser(server)).email)).link).searchParams.get('redirect_to')
    const forged = new URL(link)
    forged.searchParams.set('redirect_to', asked ?? '')
    const thief = aBrowser(server)
    await followLink(thief, forged.href)
    expect(await isSignedIn(thief, user.email)).toBe(false)
  })
})

describe('the page that waits', () => {
  it('cannot replace a new sign-in, not even when a message comes too soon', async () => {
    const user = await aUser(server)
    const { browser, link } = await askedFor(user.email)
    await followLink(browser, link)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION, prompt: 'login' }))
    const waiting = await submitted(browser, page, '/ui/mail', { identifier: user.email })
    expect([waiting.location, waiting.text.includes('Check your email')]).toEqual([null, true])
  })

  it('can be reloaded, and only in its own browser', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const sent = await browser.submit(await browser.get('/ui'), '/ui/mail', { identifier: user.email })
    expect([sent.status, sent.location?.includes(encodeURIComponent(user.email))]).toEqual([303, false])
    for (let i = 0; i < 2; i += 1) expect((await browser.follow(sent)).text).toContain('Check your email')
    expect((await aBrowser(server).get(sent.location ?? '')).location).toBe('/ui')
  })

  it('says how long to wait, and sends again afterwards', async () => {
    const email = (await aUser(server)).email
    const { browser, waiting } = await askedFor(email)
    expect(waiting.text).toContain('Send it again (in 60 seconds)')
    const early = await browser.submit(waiting, '/ui/code/resend')
    expect([early.status, noticeOf(early)]).toEqual([
      429,
      'It is too soon for another email. Check your spam folder, too. Please wait 1 minute, then try again.',
    ])
    expect(early.text).toContain('Send it again (in 60 seconds)')
    server.clock.advance(60_000)
    const { mail } = await mailTo(server, email, (await mailTo(server, email)).mail)
    const again = await submitted(browser, early, '/ui/code/resend')
    expect(again.text).toContain('We have sent it again.')
    const { link = '' } = await mailTo(server, email, mail)
    expect((await followLink(browser, link)).text).toContain('You are signed in')
  })
})

describe('the setting', () => {
  it('off makes links work at once', async () => {
    const own = await startUi({ AUTH_UI_LINK_CONFIRMATION: 'off' })
    const user = await aUser(own)
    const before = (await mailTo(own, user.email)).mail
    const browser = aBrowser(own)
    const waiting = await submitted(browser, await browser.get('/ui'), '/ui/mail', { identifier: user.email })
    expect(numberOn(waiting.text)).toBe('')
    const { link = '' } = await mailTo(own, user.email, before)
    expect((await settle(browser, await browser.get(link))).text).toContain('You are signed in')
    await own.close()
  })

  it('all asks for links of the API too, and then answers as they do', async () => {
    const own = await startUi({ AUTH_UI_LINK_CONFIRMATION: 'all' })
    const user = await aUser(own)
    const before = (await mailTo(own, user.email)).mail
    await post(own, `/magiclink?redirect_to=${encodeURIComponent(APPLICATION)}`, { email: user.email })
    const { link = '' } = await mailTo(own, user.email, before)
    const browser = aBrowser(own)
    const page = await openLink(browser, link)
    expect(page.text).toContain(user.email)
    const done = await browser.submit(page, '/ui/link')
    expect(done.location).toContain(`${APPLICATION}#access_token=`)
    await own.close()
  })

  it('without the other device offers only to sign in here', async () => {
    const own = await startUi({ AUTH_UI_OTHER_DEVICE_ENABLED: 'false' })
    const user = await aUser(own)
    const before = (await mailTo(own, user.email)).mail
    const asking = aBrowser(own)
    await submitted(asking, await asking.get('/ui'), '/ui/mail', { identifier: user.email })
    const { link = '' } = await mailTo(own, user.email, before)
    const browser = aBrowser(own)
    const page = await openLink(browser, link)
    expect(page.text).not.toContain('other device')
    expect((await browser.post('/ui/link/confirm', {})).status).toBe(404)
    expect((await submitted(browser, page, '/ui/link')).text).toContain('You are signed in')
    await own.close()
  })
})
