import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { aUser, mailTo } from '../support/api.js'
import { NO_EMAIL_GAPS, type TestServer } from '../support/server.js'
import {
  aBrowser,
  APPLICATION,
  aUserWithTotp,
  noticeOf,
  openLink,
  settle,
  signIn,
  startUi,
  submitted,
  uiPath,
} from './support.js'

let server: TestServer
beforeAll(async () => {
  server = await startUi({ AUTH_RATE_LIMIT_VERIFY: '60', AUTH_RATE_LIMIT_SHARED_ADDRESS_FACTOR: '1' })
})
afterAll(() => server.close())

describe('people who did something wrong', () => {
  it('may press the button for the other device without a number: the link still works', async () => {
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    const browser = aBrowser(server)
    const waiting = await submitted(browser, await browser.get('/ui'), '/ui/mail', { identifier: user.email })
    const number = /<strong>(\d\d)<\/strong>/.exec(waiting.text)?.[1] ?? ''
    const { link = '' } = await mailTo(server, user.email, before)
    const other = aBrowser(server)
    let page = await openLink(other, link)
    for (const empty of ['', '  ', 'x', '1']) {
      page = await submitted(other, page, '/ui/link/confirm', { number: empty })
      expect([page.status, noticeOf(page)]).toEqual([422, 'Enter the number that the other device shows.'])
    }
    expect((await submitted(other, page, '/ui/link/confirm', { number })).text).toContain('Confirmed')
  })

  it('are told of a value that a link repeats, instead of getting one of them', async () => {
    const browser = aBrowser(server)
    for (const below of ['', '/sign-up', '/forgot', '/account', '/code']) {
      const page = await browser.get(
        `/ui${below}?redirect_to=${encodeURIComponent(APPLICATION)}&redirect_to=https%3A%2F%2Fother.example.com%2Fx`,
      )
      expect([below, page.status, page.text.includes('link is malformed')]).toEqual([below, 400, true])
    }
  })

  it('find account and sign-out on the page that asks whether to continue', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    await signIn(browser, user)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION, prompt: 'select_account' }))
    expect(page.text).toContain('Use another account')
    expect(page.text).toContain('/ui/account')
    expect(page.text).toContain('Sign out')
    expect((await settle(browser, await browser.get('/ui/account'))).text).toContain(user.email)
  })

  it('learn that a code was used, and what to do', async () => {
    const user = await aUserWithTotp(server)
    const code = user.code()
    const use = async () => {
      const browser = aBrowser(server)
      const page = await settle(browser, await signIn(browser, user))
      return submitted(browser, page, '/ui/factor', { code })
    }
    expect((await use()).text).toContain('You are signed in')
    expect(noticeOf(await use())).toMatch(/already used.*Get a new one/)
  })

  it('see how long another email takes, and other ways in until then', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const page = await submitted(browser, await browser.get('/ui/forgot'), '/ui/forgot', {
      email: user.email,
    })
    expect(page.text).toContain('You can request another one in 15 minutes.')
    expect(page.text).toContain('Sign in another way')
  })

  it('are told when to come back after too many attempts, and get back to the page', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const page = await submitted(browser, await browser.get('/ui/forgot'), '/ui/forgot', {
      email: user.email,
    })
    let refused = await browser.submit(page, '/ui/code', { code: '000000' }, { referer: page.url })
    for (let more = 0; more < 100 && refused.status !== 429; more += 1)
      refused = await browser.submit(page, '/ui/code', { code: '000000' }, { referer: page.url })
    expect(refused.status).toBe(429)
    expect(refused.text).toMatch(/Please wait (?:\d+ )?(?:seconds?|minutes?|\d)/)
    expect(refused.text).toContain('Back to the page')
    const back = /href="([^"]*\/ui\/code[^"]*)"/.exec(refused.text)?.[1]?.replace(/&#38;/g, '&') ?? ''
    expect((await browser.get(back)).text).toContain('Check your email')
    const elsewhere = await browser.submit(page, '/ui/code', {}, { referer: 'https://evil.example/ui/x' })
    expect(elsewhere.text).not.toContain('evil.example')
  })
})

describe('notices', () => {
  it('follow a change of password on the page', async () => {
    const told = await startUi({
      ...NO_EMAIL_GAPS,
      AUTH_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED: 'true',
    })
    try {
      const user = await aUser(told)
      const browser = aBrowser(told)
      await signIn(browser, user)
      const page = await browser.get('/ui/password')
      await submitted(browser, page, '/ui/password', { password: 'another horse battery' })
      await told.inbox.waitForMail({ to: user.email, subject: 'Your password was changed' })
    } finally {
      await told.close()
    }
  })
})
