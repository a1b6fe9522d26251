import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { TOTP } from 'otpauth'
import type { FormBrowser, Seen } from '@signet/testkit'
import { decodeJwt } from 'jose'
import { aUser, get, PASSWORD, post, type Json, type SignedUp } from '../support/api.js'
import { META } from '../support/meta.js'
import type { TestServer } from '../support/server.js'
import { activityOn, onAccount, startAccount, statusOf } from './account-support.js'
import { aUserWithTotp, noticeOf, settle, signIn, submitted } from './support.js'

let server: TestServer
beforeAll(async () => {
  ;({ server } = await startAccount())
})
afterAll(() => server.close())

/** The code that an authenticator app shows after it scanned the page's QR code. */
function codeFor({ text }: Seen): string {
  const secret = /class="secret"[^>]*>\s*([A-Z2-7 ]+?)\s*</.exec(text)?.[1]?.replaceAll(' ', '') ?? ''
  return new TOTP({ secret }).generate({ timestamp: server.clock.now().getTime() })
}

describe('second factors on the account page', () => {
  it('are added with a QR code, backed by recovery codes, used once each, and removed', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user)
    const page = await browser.get('/ui/account/authenticator')
    const setup = await submitted(browser, page, '/ui/account/authenticator', { name: 'my phone' })
    expect(setup.text).toContain('<svg')
    // The page survives a reload.
    const again = await browser.get(setup.url)
    const wrong = await submitted(browser, again, '/ui/account/authenticator', { code: '000000' })
    expect(noticeOf(wrong)).toContain('wrong')
    const added = await submitted(browser, wrong, '/ui/account/authenticator', { code: codeFor(again) })
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
    const { browser: fresh, page: asked } = await onAccount(server, user)
    expect(asked.text).toContain('/ui/factor/recovery')
    const form = await fresh.get('/ui/factor/recovery?next=account')
    const refused = await submitted(fresh, form, '/ui/factor/recovery', { code: '22222-22222' })
    const inside = await submitted(fresh, refused, '/ui/factor/recovery', { code: shown[0] ?? '' })
    const { browser: later } = await onAccount(server, user)
    const used = await submitted(later, await later.get('/ui/factor/recovery'), '/ui/factor/recovery', {
      code: shown[0] ?? '',
    })
    expect(noticeOf(used)).toBe(
      'This recovery code is wrong or was already used. Check it, or use another one.',
    )
    expect(noticeOf(refused)).toBe(noticeOf(used))
    expect(inside.text).toContain('You have 9 codes left.')
    const removed = await submitted(fresh, inside, '/ui/account/factor/remove')
    expect(statusOf(removed)).toBe('The second factor was removed.')
  })
})

describe('a second factor that is being added', () => {
  const PATH = '/ui/account/authenticator'
  it('shows its secret to no other session, whether of that browser or of that person', async () => {
    const user = await aUser(server)
    const { browser, page } = await onAccount(server, user)
    const setup = await submitted(browser, await browser.get(PATH), PATH, { name: 'my phone' })
    const address = new URL(setup.url)
    expect(address.searchParams.has('setup')).toBe(true)
    const elsewhere = await onAccount(server, user)
    await submitted(browser, page, '/ui/sign-out')
    const later = await onAccount(server, user, browser)
    for (const { browser: other } of [elsewhere, later]) {
      const opened = await settle(other, await other.get(`${address.pathname}${address.search}`))
      expect([new URL(opened.url).pathname, opened.text.includes('class="secret"')]).toEqual([
        '/ui/account',
        false,
      ])
    }
  })
})

describe('the name of a second factor', () => {
  const RENAME = '/ui/account/factor/rename'
  const inside = async () => {
    const user = await aUserWithTotp(server)
    const { browser, page } = await onAccount(server, user)
    return { user, browser, page: await submitted(browser, page, '/ui/factor', { code: user.code() }) }
  }
  const begin = async (browser: FormBrowser) =>
    submitted(browser, await browser.get('/ui/account/authenticator'), '/ui/account/authenticator', {
      name: 'the other',
    })
  const namesOf = async ({ access_token: token }: SignedUp) =>
    ((await get(server, '/user', { token })).body['factors'] as Json[]).map(
      (factor) => factor['friendly_name'],
    )

  it('is changed by its owner, and the owner sees that it was', async () => {
    const { user, browser, page } = await inside()
    expect(page.text).toContain('value="my app"')
    server.clock.advance(1_000)
    const renamed = await submitted(browser, page, RENAME, { name: ' On my \u202ephone ' })
    expect(statusOf(renamed)).toBe('The second factor was renamed.')
    expect(renamed.text).toContain('<strong>On my phone</strong>')
    expect(activityOn(renamed)[0]).toBe('Second factor changed: Authenticator app')
    expect(await namesOf(user)).toEqual(['On my phone'])
    const same = await submitted(browser, renamed, RENAME, { name: 'On my phone' })
    expect(statusOf(same)).toBe('The second factor was renamed.')
  })

  it.each([
    ['that another one has', 'the other', 422, 'You have a second factor with this name.'],
    ['that nobody would see', ' \u200b ', 400, 'A name needs at least one visible character.'],
  ])('is none %s', async (_, name, status, notice) => {
    const { user, browser, page } = await inside()
    const begun = await begin(browser)
    await submitted(browser, begun, '/ui/account/authenticator', { code: codeFor(begun) })
    const refused = await submitted(browser, page, RENAME, { name })
    expect([refused.status, noticeOf(refused)]).toEqual([status, notice])
    expect(await namesOf(user)).toContain('my app')
  })

  it('may be that of a factor which was begun and left', async () => {
    const { browser, page } = await inside()
    await begin(browser)
    const renamed = await submitted(browser, page, RENAME, { name: 'the other' })
    expect(statusOf(renamed)).toBe('The second factor was renamed.')
  })

  it('cannot be changed by anyone else, or before the factor was shown', async () => {
    const { user } = await inside()
    const other = await inside()
    const taken = await other.browser.submit(other.page, RENAME, { factor: user.factorId, name: 'mine now' })
    expect([taken.status, noticeOf(taken)]).toEqual([404, 'This second factor was already removed.'])
    const signedIn = await post(server, '/token?grant_type=password', {
      email: user.email,
      password: PASSWORD,
    })
    const { session_id: sessionId } = decodeJwt(String(signedIn.body['access_token']))
    const { gate, enrollments } = server.context
    const live = await gate.find(user.user.id, String(sessionId))
    if (live === null) throw new Error('not signed in')
    await expect(enrollments.rename(live, user.factorId, 'mine now', META)).rejects.toThrow(
      expect.objectContaining({ code: 'insufficient_aal' }),
    )
    expect(await namesOf(user)).toEqual(['my app'])
  })
})

const codesOn = ({ text }: Seen) =>
  [...text.matchAll(/<li>([2-9a-z]{5}-[2-9a-z]{5})<\/li>/g)].map(([, one = '']) => one)

describe('recovery codes on the account page', () => {
  const PATH = '/ui/account/recovery-codes'
  const strong = async () => {
    const user = await aUserWithTotp(server)
    const { browser, page } = await onAccount(server, user)
    await submitted(browser, page, '/ui/factor', { code: user.code() })
    return { browser, page: await browser.get(PATH) }
  }

  it('are shown once: a reload neither repeats nor replaces them', async () => {
    const { browser, page } = await strong()
    const made = await submitted(browser, page, PATH)
    expect(codesOn(made)).toHaveLength(10)
    const again = await browser.get(made.url)
    expect(codesOn(again)).toEqual([])
    expect(again.text).toContain('have already been shown')
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

  it('that wait to be shown can only be opened by their owner, and only for a short time', async () => {
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
    const { browser } = await onAccount(server, await aUser(server))
    const { text } = await browser.get(PATH)
    expect(text).toContain('Add one first.')
    expect(text).not.toContain('Create ten new codes')
  })
})

describe('the secret of an authenticator app', () => {
  const SECRET = /class="secret"[^>]*>\s*([A-Z2-7 ]+?)\s*</
  const begun = async (user: SignedUp) => {
    const { browser } = await onAccount(server, user)
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
