import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { FormBrowser, Seen } from '@signet/testkit'
import { aUser, PASSWORD, type SignedUp } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { statusOf } from './account-support.js'
import { aBrowser, noticeOf, outcomeQuery, settle, signIn, startUi } from './support.js'

const NEW_PASSWORD = 'another horse battery'

let server: TestServer
type Person = { user: SignedUp; browser: FormBrowser; page: Seen }

async function onPasswordPage(): Promise<Person> {
  const user = await aUser(server)
  const browser = aBrowser(server)
  await settle(browser, await signIn(browser, user))
  return { user, browser, page: await browser.get('/ui/password') }
}

const isAskedFor = (seen: Seen, name: string) => seen.text.includes(`name="${name}"`)

async function expectChanged({ user, browser }: Person, seen: Seen): Promise<void> {
  const settled = await settle(browser, seen)
  expect(settled.text).toContain('You are signed in')
  expect(statusOf(settled)).toBe('Your password was changed.')
  const [old, changed] = await Promise.all(
    [PASSWORD, NEW_PASSWORD].map((password) => signIn(aBrowser(server), { email: user.email, password })),
  )
  expect([old?.status, changed?.status]).toEqual([400, 303])
}

describe('the password page where a change needs a code', () => {
  beforeAll(async () => {
    server = await startUi({ AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true' })
  })
  afterAll(() => server.close())

  const codeFor = async ({ user }: Person) => {
    const mail = await server.inbox.waitForMail({ to: user.email, subject: /is your verification code$/ })
    return /\b(\d{6})\b/.exec(mail.subject)?.[1] ?? ''
  }

  it('sends one, asks for it, and takes it together with the password', async () => {
    const person = await onPasswordPage()
    const { browser, page } = person
    expect(isAskedFor(page, 'nonce')).toBe(false)
    const asked = await browser.submit(page, '/ui/password', { password: NEW_PASSWORD })
    expect([asked.status, noticeOf(asked)]).toEqual([400, expect.stringContaining('we sent you a code')])
    expect(isAskedFor(asked, 'nonce')).toBe(true)
    const nonce = await codeFor(person)
    const wrong = nonce === '000000' ? '000001' : '000000'
    const refused = await browser.submit(asked, '/ui/password', { password: NEW_PASSWORD, nonce: wrong })
    expect([refused.status, noticeOf(refused)]).toEqual([422, 'This code is wrong or has expired.'])
    const weak = await browser.submit(refused, '/ui/password', { password: 'abc', nonce })
    expect(noticeOf(weak)).toBe('This password is too short.')
    expect(isAskedFor(weak, 'nonce')).toBe(true)
    await expectChanged(person, await browser.submit(weak, '/ui/password', { password: NEW_PASSWORD, nonce }))
  })

  it('asks somebody who begins again for the code that was sent, and sends no other so soon', async () => {
    const person = await onPasswordPage()
    const { browser, page } = person
    await browser.submit(page, '/ui/password', { password: NEW_PASSWORD })
    const nonce = await codeFor(person)
    const again = await browser.submit(await browser.get('/ui/password'), '/ui/password', {
      password: NEW_PASSWORD,
    })
    expect([again.status, noticeOf(again)]).toEqual([429, expect.stringContaining('If you already have one')])
    expect(server.inbox.messages({ to: person.user.email, subject: /verification code$/ })).toHaveLength(1)
    await expectChanged(
      person,
      await browser.submit(again, '/ui/password', { password: NEW_PASSWORD, nonce }),
    )
  })
})

describe('the password page where a change needs the current password', () => {
  beforeAll(async () => {
    server = await startUi({ AUTH_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true' })
  })
  afterAll(() => server.close())

  it('asks for it, and keeps asking until both are right', async () => {
    const person = await onPasswordPage()
    const { browser, page } = person
    expect(isAskedFor(page, 'current_password')).toBe(false)
    const asked = await browser.submit(page, '/ui/password', { password: NEW_PASSWORD })
    expect([asked.status, isAskedFor(asked, 'current_password')]).toEqual([400, true])
    const wrong = await browser.submit(asked, '/ui/password', {
      password: NEW_PASSWORD,
      current_password: 'not this one',
    })
    expect([wrong.status, noticeOf(wrong)]).toEqual([400, 'The current password is incorrect.'])
    expect(wrong.text).not.toContain('not this one')
    const weak = await browser.submit(wrong, '/ui/password', { password: 'abc', current_password: PASSWORD })
    expect(noticeOf(weak)).toBe('This password is too short.')
    expect(isAskedFor(weak, 'current_password')).toBe(true)
    await expectChanged(
      person,
      await browser.submit(weak, '/ui/password', { password: NEW_PASSWORD, current_password: PASSWORD }),
    )
  })
})

describe('the password page', () => {
  beforeAll(async () => {
    server = await startUi()
  })
  afterAll(() => server.close())

  it('is for people who are signed in', async () => {
    expect((await aBrowser(server).get('/ui/password')).location).toBe('/ui')
  })

  it('asks for nothing but the new password unless the settings say so', async () => {
    const person = await onPasswordPage()
    const { browser, page } = person
    const done = await browser.submit(page, '/ui/password', { password: NEW_PASSWORD })
    await expectChanged(person, done)
    const german = await browser.get(done.location ?? '', { 'accept-language': 'de' })
    expect(statusOf(german)).toBe('Ihr Passwort wurde geändert.')
  })

  it('says nothing about changes that are not made here', async () => {
    const { browser } = await onPasswordPage()
    for (const done of ['', 'nothing', 'email', 'constructor'])
      expect(statusOf(await browser.get(`/ui${outcomeQuery(server, browser, done)}`))).toBeUndefined()
  })
})
