import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { anEmail, aPhone, aUser, expectError, post } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import type { SmsGateway } from '../support/sms-gateway.js'
import { activityOn, onAccount, startAccount, statusOf } from './account-support.js'
import { aBrowser, followLink, noticeOf, openLink, settle, submitted } from './support.js'

let server: TestServer
let gateway: SmsGateway
beforeAll(async () => {
  ;({ gateway, server } = await startAccount())
})
afterAll(() => server.close())

describe('the addresses on the account page', () => {
  it('stay with the session of the page where a person has one at most', async () => {
    const { server: single, gateway: sms } = await startAccount({ AUTH_SESSIONS_SINGLE_PER_USER: 'true' })
    try {
      const user = await aUser(single)
      const { browser } = await onAccount(single, user)
      const phone = aPhone()
      const page = await browser.get('/ui/account/phone')
      const waiting = await submitted(browser, page, '/ui/account/phone', { phone: `+${phone}` })
      const code = sms.codeFor(phone)
      const done = await submitted(browser, waiting, '/ui/account/phone/confirm', { code })
      expect(statusOf(done)).toBe('Your phone number was changed.')
    } finally {
      await single.close()
    }
  })

  it('changes the email address with the codes of both emails, or their links', async () => {
    for (const how of ['codes', 'links']) {
      const user = await aUser(server)
      const address = anEmail()
      const { browser } = await onAccount(server, user)
      const page = await browser.get('/ui/account/email')
      const waiting = await submitted(browser, page, '/ui/account/email', { email: address })
      expect(waiting.text).toContain(address)
      const [fresh, current] = await Promise.all(
        [address, user.email].map(async (to) => {
          const mail = await server.inbox.waitForMail({ to, subject: /new email address/ })
          return {
            link: mail.links.find((url) => url.includes('token=')) ?? '',
            code: /\b(\d{6})\b/.exec(mail.text)?.[1] ?? '',
          }
        }),
      )
      if (how === 'codes') {
        const half = await submitted(browser, waiting, '/ui/account/email/confirm', {
          half: 'code',
          code: fresh?.code ?? '',
        })
        expect(statusOf(half)).toContain('other address')
        const again = await browser.get('/ui/account/email')
        const done = await submitted(browser, again, '/ui/account/email/confirm', {
          half: 'current',
          current: current?.code ?? '',
        })
        expect(statusOf(done)).toBe('Your email address was changed.')
        expect(done.text.match(/This browser/g)).toHaveLength(1)
      } else {
        expect((await followLink(aBrowser(server), fresh?.link ?? '')).text).toContain('other address')
        const done = await followLink(browser, current?.link ?? '')
        expect(statusOf(done)).toBe('Your email address was changed.')
      }
      const { page: shown } = await onAccount(server, { ...user, email: address })
      expect(shown.text).toContain(address)
      await server.inbox.waitForMail({ to: user.email, subject: 'Your email address was changed' })
    }
  })

  it('says so when the new email address is the current one', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user)
    const page = await browser.get('/ui/account/email')
    const same = await submitted(browser, page, '/ui/account/email', { email: user.email.toUpperCase() })
    expect(noticeOf(same)).toBe('This is already your email address.')
  })

  it('changes the phone number with a code, and keeps what was typed when it is taken', async () => {
    const user = await aUser(server)
    const [phone, taken] = [aPhone(), aPhone()]
    await post(server, '/otp', { phone: taken })
    await post(server, '/verify', { type: 'sms', phone: taken, token: gateway.codeFor(taken) })
    const { browser } = await onAccount(server, user)
    const page = await browser.get('/ui/account/phone')
    const refused = await submitted(browser, page, '/ui/account/phone', { phone: `+${taken}` })
    expect(noticeOf(refused)).toContain('Another account has this phone number.')
    expect(refused.text).toContain(`value="+${taken}"`)
    const waiting = await submitted(browser, page, '/ui/account/phone', { phone: `+${phone}` })
    const wrong = await submitted(browser, waiting, '/ui/account/phone/confirm', { code: '000000' })
    expect(noticeOf(wrong)).toContain('get a new one')
    const done = await submitted(browser, wrong, '/ui/account/phone/confirm', {
      code: gateway.codeFor(phone),
    })
    expect(statusOf(done)).toBe('Your phone number was changed.')
  })

  it('refuses at its field a number that is only a country', async () => {
    const { browser } = await onAccount(server, await aUser(server))
    const page = await browser.get('/ui/account/phone')
    const refused = await submitted(browser, page, '/ui/account/phone', { phone: '+49' })
    expect(refused.status).toBe(400)
    expect(refused.text).toMatch(/id="phone"[^>]*aria-invalid="true"/)
    expect(gateway.messages.filter(({ to }) => to === '+49')).toEqual([])
  })
})

describe('a change of email that waits to be confirmed', () => {
  const codeTo = async (to: string) =>
    /\b(\d{6})\b/.exec((await server.inbox.waitForMail({ to, subject: /new email address/ })).text)?.[1] ?? ''
  const begun = async () => {
    const user = await aUser(server)
    const mistyped = anEmail()
    const { browser } = await onAccount(server, user)
    server.clock.advance(1_000)
    const page = await browser.get('/ui/account/email')
    const waiting = await submitted(browser, page, '/ui/account/email', { email: mistyped })
    server.clock.advance(1_000)
    return { user, mistyped, browser, waiting }
  }

  it('is shown on the account page and in recent activity', async () => {
    const { browser, mistyped } = await begun()
    const home = await browser.get('/ui/account')
    expect(home.text).toContain(`Waiting for the confirmation of ${mistyped}`)
    expect(activityOn(home)[0]).toBe('Change of the email address requested')
  })

  it('is confirmed on another device, which is signed in to nothing and asked for no number', async () => {
    const { user, mistyped: address, browser } = await begun()
    const phone = aBrowser(server)
    for (const to of [address, user.email]) {
      const mail = await server.inbox.waitForMail({ to, subject: /new email address/ })
      const page = await openLink(phone, mail.links.find((url) => url.includes('token=')) ?? '')
      expect(page.text).toContain(`Confirm <bdi>${to}</bdi>?`)
      expect(page.text).toContain('This does not sign you in here.')
      expect(page.text).not.toMatch(/number on the other device|sign in here|signed in as/i)
      const done = await settle(phone, await phone.submit(page, '/ui/link'))
      expect(done.text).toContain(to === address ? 'other address' : 'Your email address was changed.')
    }
    expect((await phone.get('/ui/account')).status).toBe(303)
    expect((await browser.get('/ui/account')).text).toContain(address)
  })

  it('leaves the person of another account signed in, and says nothing else', async () => {
    const { mistyped: address, user } = await begun()
    const { browser: another, page: home } = await onAccount(server, await aUser(server))
    const mail = await server.inbox.waitForMail({ to: address, subject: /new email address/ })
    const page = await openLink(another, mail.links.find((url) => url.includes('token=')) ?? '')
    expect(page.text).not.toContain('signed in as')
    await settle(another, await another.submit(page, '/ui/link'))
    expect((await another.get('/ui/account')).text).not.toContain(user.email)
    expect(home.status).toBe(200)
  })

  it('is corrected after a short time: what was sent to the wrong address stops working', async () => {
    const gaps = await startAccount({ AUTH_MAILER_EMAIL_CHANGE_MAX_FREQUENCY: '60s' })
    try {
      const user = await aUser(gaps.server)
      const [mistyped, right] = [anEmail(), anEmail()]
      const { browser } = await onAccount(gaps.server, user)
      const page = await browser.get('/ui/account/email')
      const waiting = await submitted(browser, page, '/ui/account/email', { email: mistyped })
      const early = await submitted(browser, waiting, '/ui/account/email', { email: right })
      expect([early.status, noticeOf(early)]).toEqual([
        429,
        'It is too soon for another email. Check your spam folder, too. Please wait 1 minute, then try again.',
      ])
      gaps.server.clock.advance(61_000)
      const again = await submitted(browser, early, '/ui/account/email', { email: right })
      expect(again.text).toContain(right)
      expect(again.text).not.toContain(mistyped)
    } finally {
      await gaps.server.close()
    }
  })

  it('tells the current address not to ignore it', async () => {
    const { user, mistyped } = await begun()
    const textTo = async (to: string) =>
      (await server.inbox.waitForMail({ to, subject: /new email address/ })).text.replaceAll(/\s+/g, ' ')
    expect(await textTo(user.email)).toContain('do not confirm it: someone may be signed in to your account')
    expect(await textTo(user.email)).not.toContain('you can ignore this email')
    expect(await textTo(mistyped)).toContain('you can ignore this email')
  })

  it('is sent again on demand', async () => {
    const { browser, waiting, mistyped } = await begun()
    const first = await codeTo(mistyped)
    const before = await server.inbox.waitForMail({ to: mistyped, subject: /new email address/ })
    const again = await submitted(browser, waiting, '/ui/account/email')
    expect(again.text).toContain(mistyped)
    const mail = await server.inbox.waitForMail({ to: mistyped, subject: /new email address/, after: before })
    expect(/\b(\d{6})\b/.exec(mail.text)?.[1]).not.toBe(first)
  })

  it('is given up by its owner: neither code nor link works afterwards', async () => {
    const { user, browser, waiting, mistyped } = await begun()
    const code = await codeTo(mistyped)
    const { links } = await server.inbox.waitForMail({ to: mistyped, subject: /new email address/ })
    const kept = await submitted(browser, waiting, '/ui/account/email/cancel')
    expect(statusOf(kept)).toBe('Your email address stays as it is.')
    expect(kept.text).not.toContain(mistyped)
    expect(activityOn(kept)[0]).toBe('Change of the email address cancelled')
    const late = await submitted(browser, waiting, '/ui/account/email/confirm', { half: 'code', code })
    expect(late.status).toBe(403)
    const proof = { type: 'email_change', email: mistyped, token: code }
    expectError(await post(server, '/verify', proof), 403, 'otp_expired')
    const stranger = aBrowser(server)
    const dead = await settle(stranger, await stranger.get(links.find((url) => url.includes('token=')) ?? ''))
    expect(dead.text).toContain('This link does not work')
    const { rows } = await server.context.db.query('select email, email_change from users where id = $1', [
      user.user.id,
    ])
    expect(rows).toEqual([{ email: user.email, email_change: null }])
  })

  it('of a phone number is given up the same way', async () => {
    const user = await aUser(server)
    const phone = aPhone()
    const { browser } = await onAccount(server, user)
    const page = await browser.get('/ui/account/phone')
    const waiting = await submitted(browser, page, '/ui/account/phone', { phone: `+${phone}` })
    const kept = await submitted(browser, waiting, '/ui/account/phone/cancel')
    expect(statusOf(kept)).toBe('Your phone number stays as it is.')
    const late = await submitted(browser, waiting, '/ui/account/phone/confirm', {
      code: gateway.codeFor(phone),
    })
    expect(late.status).toBe(403)
  })
})
