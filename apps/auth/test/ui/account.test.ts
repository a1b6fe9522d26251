import { TOTP } from 'otpauth'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { formOf, type FormBrowser, type Seen } from '@signet/testkit'
import { anEmail, aPhone, aUser, PASSWORD, post, type SignedUp } from '../support/api.js'
import { NO_EMAIL_GAPS, type TestServer } from '../support/server.js'
import { startSmsServer, type SmsGateway } from '../support/sms-gateway.js'
import {
  aBrowser,
  APPLICATION,
  aUserWithTotp,
  followLink,
  noticeOf,
  settle,
  signIn,
  startUi,
  submitted,
  uiPath,
} from './support.js'

const DAY = 86_400_000
const NOTICES = [
  'PASSWORD_CHANGED',
  'EMAIL_CHANGED',
  'PHONE_CHANGED',
  'MFA_FACTOR_ENROLLED',
  'MFA_FACTOR_UNENROLLED',
  'MFA_RECOVERY_CODES_CREATED',
]
const ENV = {
  ...NO_EMAIL_GAPS,
  AUTH_SMS_MAX_FREQUENCY: '0',
  AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
  AUTH_SECURITY_REFRESH_TOKEN_REUSE_INTERVAL: '0',
  AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '100000',
  ...Object.fromEntries(NOTICES.map((kind) => [`AUTH_MAILER_NOTIFICATIONS_${kind}_ENABLED`, 'true'])),
}

let server: TestServer
let gateway: SmsGateway
beforeAll(async () => {
  ;({ gateway, server } = await startSmsServer(ENV, startUi))
})
afterAll(() => server.close())

/** Somebody whom signing in leads to the account page. */
async function onAccount(user: SignedUp): Promise<{ browser: FormBrowser; page: Seen }> {
  const browser = aBrowser(server)
  const first = await settle(browser, await browser.get('/ui/account'))
  const page = await submitted(browser, first, '/ui/sign-in', { identifier: user.email, password: PASSWORD })
  return { browser, page }
}

const statusOf = (page: Seen) => /role="status"[^>]*>\s*([^<]*?)\s*</.exec(page.text)?.[1]

describe('the account page', () => {
  it('is where signing in leads who asked for it, with addresses, sessions and events', async () => {
    const user = await aUser(server)
    const { page } = await onAccount(user)
    expect(new URL(page.url).pathname).toBe('/ui/account')
    for (const text of [user.email, 'This browser', 'Recent activity', 'Signed in', 'Download your data'])
      expect(page.text).toContain(text)
    expect((await aBrowser(server).get('/ui/account')).status).toBe(303)
  })

  it('asks for the second factor first, and shows nothing before', async () => {
    const user = await aUserWithTotp(server)
    const { browser, page } = await onAccount(user)
    expect(new URL(page.url).pathname).toBe('/ui/factor')
    for (const below of ['/account', '/account/export', '/account/delete', '/account/email'])
      expect(new URL((await settle(browser, await browser.get(`/ui${below}`))).url).pathname).toBe(
        '/ui/factor',
      )
    const done = await submitted(browser, page, '/ui/factor', { code: user.code() })
    expect(new URL(done.url).pathname).toBe('/ui/account')
  })

  it('refuses forms from elsewhere', async () => {
    const { browser } = await onAccount(await aUser(server))
    for (const below of [
      'sessions/end',
      'delete',
      'keep',
      'email',
      'recovery-codes',
      'factor/remove',
      'unlink',
    ])
      expect([below, (await browser.post(`/ui/account/${below}`, {})).status]).toEqual([below, 403])
  })

  it('signs out one session, and all others', async () => {
    const user = await aUser(server)
    const other = async () =>
      (await post(server, '/token?grant_type=password', { email: user.email, password: PASSWORD })).body
    const refresh = async (session: Record<string, unknown>) =>
      (await post(server, '/token?grant_type=refresh_token', { refresh_token: session['refresh_token'] }))
        .status
    const { browser, page } = await onAccount(user)
    // The session of the sign-up is the only other one.
    const one = await submitted(browser, page, '/ui/account/session/end')
    expect(statusOf(one)).toBe('Signed out there.')
    expect(await refresh(user)).toBe(400)
    const rest = [await other(), await other()]
    const all = await submitted(browser, await browser.get('/ui/account'), '/ui/account/sessions/end')
    expect(statusOf(all)).toBe('Signed out everywhere else.')
    expect(await Promise.all(rest.map(refresh))).toEqual([400, 400])
    expect(all.text).toContain('This browser')
  })

  it('downloads everything as JSON, without secrets', async () => {
    const { browser } = await onAccount(await aUser(server))
    const answer = await browser.get('/ui/account/export')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="account.json"')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(Object.keys(JSON.parse(answer.text) as object)).toEqual(
      expect.arrayContaining(['user', 'sessions', 'audit_log']),
    )
    expect(answer.text).not.toContain('$2')
  })

  it('changes the password, says so, and tells the owner', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(user)
    const page = await browser.get('/ui/password?next=account')
    const done = await submitted(browser, page, '/ui/password', { password: 'another horse battery' })
    expect(statusOf(done)).toBe('Your password was changed.')
    await server.inbox.waitForMail({ to: user.email, subject: 'Your password was changed' })
  })

  it('changes the email address with the codes of both emails, or their links', async () => {
    for (const how of ['codes', 'links']) {
      const user = await aUser(server)
      const address = anEmail()
      const { browser } = await onAccount(user)
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
      const { page: shown } = await onAccount({ ...user, email: address })
      expect(shown.text).toContain(address)
      await server.inbox.waitForMail({ to: user.email, subject: 'Your email address was changed' })
    }
  })

  it('says so when the new email address is the current one', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(user)
    const page = await browser.get('/ui/account/email')
    const same = await submitted(browser, page, '/ui/account/email', { email: user.email.toUpperCase() })
    expect(noticeOf(same)).toBe('This is your email address already.')
  })

  it('changes the phone number with a code, and keeps what was typed when it is taken', async () => {
    const user = await aUser(server)
    const [phone, taken] = [aPhone(), aPhone()]
    await post(server, '/otp', { phone: taken })
    await post(server, '/verify', { type: 'sms', phone: taken, token: gateway.codeFor(taken) })
    const { browser } = await onAccount(user)
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
})

describe('second factors on the account page', () => {
  it('are added with a QR code, backed by recovery codes, used once each, and removed', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(user)
    const page = await browser.get('/ui/account/authenticator')
    const setup = await submitted(browser, page, '/ui/account/authenticator', { name: 'my phone' })
    expect(setup.text).toContain('<svg')
    // The page survives a reload.
    const again = await browser.get(setup.url)
    const secret = (/class="secret"[^>]*>\s*([A-Z2-7 ]+?)\s*</.exec(again.text)?.[1] ?? '').replaceAll(
      ' ',
      '',
    )
    const wrong = await submitted(browser, again, '/ui/account/authenticator', { code: '000000' })
    expect(noticeOf(wrong)).toContain('wrong')
    const code = new TOTP({ secret }).generate({ timestamp: server.clock.now().getTime() })
    const added = await submitted(browser, wrong, '/ui/account/authenticator', { code })
    expect(statusOf(added)).toContain('The app was added.')
    expect(added.text).toContain('my phone')
    await server.inbox.waitForMail({ to: user.email, subject: /verification method was added/ })
    const codes = await submitted(
      browser,
      await browser.get('/ui/account/recovery-codes'),
      '/ui/account/recovery-codes',
    )
    const shown = codesOn(codes)
    expect(shown).toHaveLength(10)
    const { browser: fresh, page: asked } = await onAccount(user)
    expect(asked.text).toContain('/ui/factor/recovery')
    const form = await fresh.get('/ui/factor/recovery?next=account')
    const refused = await submitted(fresh, form, '/ui/factor/recovery', { code: '22222-22222' })
    expect(noticeOf(refused)).toBeDefined()
    const inside = await submitted(fresh, refused, '/ui/factor/recovery', { code: shown[0] ?? '' })
    expect(inside.text).toContain('You have 9 codes left.')
    const removed = await submitted(fresh, inside, '/ui/account/factor/remove')
    expect(statusOf(removed)).toBe('The second factor was removed.')
  })
})

const codesOn = ({ text }: Seen) =>
  [...text.matchAll(/<li>([2-9a-z]{5}-[2-9a-z]{5})<\/li>/g)].map(([, one = '']) => one)

describe('recovery codes on the account page', () => {
  const PATH = '/ui/account/recovery-codes'
  const strong = async () => {
    const user = await aUserWithTotp(server)
    const { browser, page } = await onAccount(user)
    await submitted(browser, page, '/ui/factor', { code: user.code() })
    return { browser, page: await browser.get(PATH) }
  }

  it('are shown once: a reload neither repeats nor replaces them', async () => {
    const { browser, page } = await strong()
    const made = await submitted(browser, page, PATH)
    expect(codesOn(made)).toHaveLength(10)
    const again = await browser.get(made.url)
    expect(codesOn(again)).toEqual([])
    expect(again.text).toContain('were shown already')
    expect(again.text).toContain('You have 10 codes left.')
  })

  it('are replaced only on demand, so a form sent twice shows those of its first time', async () => {
    const { browser, page } = await strong()
    expect((await browser.submit(page, PATH)).status).toBe(303)
    expect(codesOn(await submitted(browser, page, PATH))).toHaveLength(10)
    const asked = await submitted(browser, page, PATH)
    expect(codesOn(asked)).toEqual([])
    expect(asked.text).toContain('will stop working')
    expect(codesOn(await submitted(browser, asked, PATH))).toHaveLength(10)
  })

  it('that wait to be shown open for nobody else, and not for long', async () => {
    const mine = await strong()
    const location = (await mine.browser.submit(mine.page, PATH)).location ?? ''
    const other = await strong()
    for (const [name, value] of mine.browser.cookies)
      if (name.includes('handover')) other.browser.cookies.set(name, value)
    expect(codesOn(await other.browser.get(location))).toEqual([])
    server.clock.advance(301_000)
    expect(codesOn(await mine.browser.get(location))).toEqual([])
  })

  it('need a second factor first', async () => {
    const { browser } = await onAccount(await aUser(server))
    const { text } = await browser.get(PATH)
    expect(text).toContain('Add one first.')
    expect(text).not.toContain('Make ten new codes')
  })
})

describe('the secret of an authenticator app', () => {
  const SECRET = /class="secret"[^>]*>\s*([A-Z2-7 ]+?)\s*</
  const begun = async (user: SignedUp) => {
    const { browser } = await onAccount(user)
    const page = await browser.get('/ui/account/authenticator')
    const setup = await submitted(browser, page, '/ui/account/authenticator', { name: 'my phone' })
    const secret = (SECRET.exec(setup.text)?.[1] ?? '').replaceAll(' ', '')
    expect(secret).not.toBe('')
    return { browser, setup, code: () => totpOf(secret) }
  }
  const totpOf = (secret: string) =>
    new TOTP({ secret }).generate({ timestamp: server.clock.now().getTime() })
  const pathOf = async (browser: FormBrowser, url: string) =>
    new URL((await settle(browser, await browser.get(url))).url).pathname

  it('is gone from the history once the app is added', async () => {
    const { browser, setup, code } = await begun(await aUser(server))
    await submitted(browser, setup, '/ui/account/authenticator', { code: code() })
    expect(await pathOf(browser, setup.url)).toBe('/ui/account')
    const late = await browser.submit(setup, '/ui/account/authenticator', { code: code() })
    expect([late.status, late.text]).toEqual([303, ''])
  })

  it('is not shown to the next person at the same browser, nor in their next session', async () => {
    const user = await aUser(server)
    const { browser, setup } = await begun(user)
    for (const next of [await aUser(server), user]) {
      await submitted(browser, await browser.get('/ui/account'), '/ui/sign-out')
      await signIn(browser, { ...next, password: PASSWORD })
      expect(await pathOf(browser, setup.url)).toBe('/ui/account')
    }
  })

  it('is shown no longer than a challenge lives', async () => {
    const { browser, setup } = await begun(await aUser(server))
    server.clock.advance(299_000)
    expect(await pathOf(browser, setup.url)).toBe('/ui/account/authenticator')
    server.clock.advance(2_000)
    expect(await pathOf(browser, setup.url)).toBe('/ui/account')
  })
})

describe('deleting the account on its page', () => {
  it('asks for the password, signs out, and lets whoever signs in keep it', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(user)
    const page = await browser.get('/ui/account/delete')
    expect(page.text).toContain('7 days')
    expect((await browser.get('/ui/account/delete?sent=1')).text).not.toContain('sent you a code')
    const refused = await submitted(browser, page, '/ui/account/delete', { password: 'wrong password' })
    expect(noticeOf(refused)).toContain('current password is incorrect')
    const gone = await submitted(browser, refused, '/ui/account/delete', { password: PASSWORD })
    expect(gone.text).toContain('Goodbye')
    expect((await browser.get('/ui/account')).status).toBe(303)
    // Not even an application gets in.
    const { browser: other } = { browser: aBrowser(server) }
    const pending = await settle(other, await signIn(other, user, { redirect_to: APPLICATION }))
    expect(pending.text).toContain('Your account will be deleted')
    for (const below of ['', '/account', '/account/email', '/password'])
      expect((await settle(other, await other.get(`/ui${below}`))).text).toContain('Keep my account')
    const silent = await other.get(
      uiPath({
        redirect_to: APPLICATION,
        prompt: 'none',
        code_challenge: 'x'.repeat(43),
        code_challenge_method: 's256',
      }),
    )
    expect(silent.location).toContain('error=interaction_required')
    // A form from before moves nothing.
    const { fields } = formOf(pending, '/ui/account/keep')
    const again = await other.post('/ui/account/delete', { ...fields, password: PASSWORD })
    expect(new URL(again.location ?? '', other.origin).pathname).toBe('/ui/account/delete')
    const kept = await submitted(other, pending, '/ui/account/keep')
    expect(statusOf(kept)).toBe('Your account stays.')
    server.clock.advance(8 * DAY)
    await server.context.cleanup.run()
    const { page: still } = await onAccount(user)
    expect(still.text).toContain(user.email)
  })
})
