import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose'
import { formOf, type Seen } from '@signet/testkit'
import { anEmail, aUser, expectError, mailTo, PASSWORD, post, put, type SignedUp } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { activityOn, onAccount, startAccount, statusOf } from './account-support.js'
import {
  aBrowser,
  APPLICATION,
  aUserWithTotp,
  noticeOf,
  settle,
  signIn,
  submitted,
  uiPath,
} from './support.js'

const DAY = 86_400_000

let server: TestServer
beforeAll(async () => {
  ;({ server } = await startAccount())
})
afterAll(() => server.close())

describe('the account page', () => {
  it('is where signing in leads who asked for it, with addresses, sessions and activity', async () => {
    const user = await aUser(server)
    const { page } = await onAccount(server, user)
    expect(new URL(page.url).pathname).toBe('/ui/account')
    for (const text of [user.email, 'This browser', 'Recent activity', 'Signed in', 'Download your data'])
      expect(page.text).toContain(text)
    expect((await aBrowser(server).get('/ui/account')).status).toBe(303)
  })

  it('asks for the second factor first, and shows nothing before', async () => {
    const user = await aUserWithTotp(server)
    const { browser, page } = await onAccount(server, user)
    expect(new URL(page.url).pathname).toBe('/ui/factor')
    for (const below of ['/account', '/account/export', '/account/delete', '/account/email'])
      expect(new URL((await settle(browser, await browser.get(`/ui${below}`))).url).pathname).toBe(
        '/ui/factor',
      )
    const done = await submitted(browser, page, '/ui/factor', { code: user.code() })
    expect(new URL(done.url).pathname).toBe('/ui/account')
  })

  it('refuses forms from elsewhere', async () => {
    const { browser } = await onAccount(server, await aUser(server))
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
    const { browser, page } = await onAccount(server, user)
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

  it('voids what a session that was signed out here has begun', async () => {
    const user = await aUser(server)
    const email = anEmail()
    expect((await put(server, '/user', { email }, { token: user.access_token })).status).toBe(200)
    const { browser, page } = await onAccount(server, user)
    expect(page.text).toContain(email)
    const home = await submitted(browser, page, '/ui/account/session/end')
    expect(home.text).not.toContain(email)
    expect(statusOf(home)).toMatch(/^Signed out there\. The unconfirmed change .* was cancelled/)
    const proof = { type: 'email_change', token_hash: (await mailTo(server, email)).token }
    expectError(await post(server, '/verify', proof), 403, 'otp_expired')
  })

  it('says so, too, after everywhere else was signed out', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user)
    await put(server, '/user', { email: anEmail() }, { token: user.access_token })
    const end = async () =>
      statusOf(await submitted(browser, await browser.get('/ui/account'), '/ui/account/sessions/end'))
    expect(await end()).toMatch(/^Signed out everywhere else\. The unconfirmed change .* was cancelled/)
    await post(server, '/token?grant_type=password', { email: user.email, password: PASSWORD })
    expect(await end()).toBe('Signed out everywhere else.')
  })

  it('says of no other session that it was signed out: neither of a stranger, nor of one that is over', async () => {
    const user = await aUser(server)
    const { browser, page } = await onAccount(server, user)
    const [stranger] = await Promise.all([aUser(server)])
    const mine = formOf(page, '/ui/account/session/end').fields['session'] ?? ''
    await submitted(browser, page, '/ui/account/session/end')
    const theirs = decodeJwt(stranger.access_token)['session_id'] as string
    const before = activityOn(await browser.get('/ui/account'))
    for (const session of [mine, theirs, randomUUID(), 'x', '']) {
      const { fields } = formOf(page, '/ui/account/session/end')
      const answer = await browser.post('/ui/account/session/end', { ...fields, session })
      expect([session, answer.status, noticeOf(answer)]).toEqual([
        session,
        404,
        'This session had already ended.',
      ])
      expect(answer.text).not.toContain('Signed out there.')
    }
    expect(activityOn(await browser.get('/ui/account'))).toEqual(before)
    expect(
      (await post(server, '/token?grant_type=refresh_token', { refresh_token: stranger.refresh_token }))
        .status,
    ).toBe(200)
  })

  it('downloads everything as JSON, without secrets', async () => {
    const { browser } = await onAccount(server, await aUser(server))
    const answer = await browser.get('/ui/account/export')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="account.json"')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(Object.keys(JSON.parse(answer.text) as object)).toEqual(
      expect.arrayContaining(['user', 'sessions', 'audit_log']),
    )
    expect(answer.text).not.toContain('$2')
  })
})

describe('recent activity', () => {
  it('says in the language of the reader what was done, one entry for each', async () => {
    const user = await aUser(server)
    server.clock.advance(1_000)
    const { browser, page } = await onAccount(server, user)
    server.clock.advance(1_000)
    await submitted(browser, page, '/ui/account/session/end')
    await post(server, '/token?grant_type=password', { email: user.email, password: PASSWORD })
    server.clock.advance(1_000)
    await submitted(browser, await browser.get('/ui/account'), '/ui/account/sessions/end')
    const shown = activityOn(await browser.get('/ui/account'))
    expect(shown).toHaveLength(5)
    expect(shown[0]).toBe('Signed out everywhere else')
    expect(shown.slice(1, 3).sort()).toEqual(['Another session signed out', 'Signed in'])
    expect(shown.slice(3)).toEqual(['Signed in', 'Account created'])
    const german = await browser.get('/ui/account', { 'accept-language': 'de' })
    expect(german.text).toContain('Eine andere Sitzung abgemeldet')
  })

  it('has no entry for a second factor that was only begun, and one for each that was added or removed', async () => {
    const user = await aUserWithTotp(server)
    const begun = await post(
      server,
      '/factors',
      { factor_type: 'totp', friendly_name: 'x' },
      {
        token: user.access_token,
      },
    )
    expect(begun.status).not.toBe(500)
    server.clock.advance(30_000)
    const { browser, page } = await onAccount(server, user)
    const home = await submitted(browser, page, '/ui/factor', { code: user.code() })
    server.clock.advance(1_000)
    const added = 'Second factor added: Authenticator app'
    expect(activityOn(home).filter((entry) => entry.startsWith('Second factor'))).toEqual([added])
    const removed = await submitted(browser, home, '/ui/account/factor/remove')
    expect(activityOn(removed).slice(0, 2)).toEqual(['Second factor removed: Authenticator app', 'Signed in'])
  })
})

describe('a second factor that is not there', () => {
  it.each([
    ['an unknown id', randomUUID()],
    ['no id', 'x'],
  ])('is not said to be removed: %s', async (_, factor) => {
    const user = await aUserWithTotp(server)
    const { browser, page } = await onAccount(server, user)
    const home = await submitted(browser, page, '/ui/factor', { code: user.code() })
    const { fields } = formOf(home, '/ui/account/factor/remove')
    const answer = await browser.post('/ui/account/factor/remove', { ...fields, factor })
    expect([answer.status, noticeOf(answer)]).toEqual([404, 'This second factor was already removed.'])
    expect(answer.text).toContain('my app')
  })
})

describe('ways to sign in', () => {
  const home = async (browser: ReturnType<typeof aBrowser>) => browser.get('/ui/account')
  const linked = async (user: SignedUp) => {
    const { db } = server.context
    const id = randomUUID()
    await db.query(
      `insert into identities (id, user_id, provider, provider_id, identity_data, created_at, updated_at)
       values ($1::uuid, $2, 'gitlab', $1::text, '{}', $3, $3)`,
      [id, user.user.id, server.clock.now()],
    )
    return id
  }

  it('that were disconnected in another tab are not said to be the only one', async () => {
    const user = await aUser(server)
    const identity = await linked(user)
    const { browser } = await onAccount(server, user)
    const [one, other] = [await home(browser), await home(browser)]
    expect(statusOf(await submitted(browser, one, '/ui/account/unlink', { identity }))).toBe('Disconnected.')
    const late = await browser.submit(other, '/ui/account/unlink', { identity })
    expect([late.status, noticeOf(late)]).toEqual([404, 'This sign-in method was already disconnected.'])
  })
})

describe('deleting the account on its page', () => {
  it('asks for the password, signs out, and lets a person who signs in keep it', async () => {
    const user = await aUser(server)
    const { browser } = await onAccount(server, user)
    const page = await browser.get('/ui/account/delete')
    expect(page.text).toContain('7 days')
    const refused = await submitted(browser, page, '/ui/account/delete', { password: 'wrong password' })
    expect(noticeOf(refused)).toContain('current password is incorrect')
    const gone = await submitted(browser, refused, '/ui/account/delete', { password: PASSWORD })
    expect(gone.text).toContain('Goodbye')
    expect((await browser.get('/ui/account')).status).toBe(303)
    // A reload shows the same page; a stranger who opens the address does not see it.
    const saidBy = ({ text }: Seen) => text.slice(text.indexOf('<main'))
    expect(saidBy(await browser.get(gone.url))).toBe(saidBy(gone))
    expect((await aBrowser(server).get(gone.url)).location).toBe('/ui')
    expect(`${gone.url} ${gone.text}`).not.toContain(user.email)
    // A sign-in for an application also gets no further.
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
    // Sending the deletion form once more changes nothing.
    const { fields } = formOf(pending, '/ui/account/keep')
    const again = await other.post('/ui/account/delete', { ...fields, password: PASSWORD })
    expect(new URL(again.location ?? '', other.origin).pathname).toBe('/ui/account/delete')
    const kept = await submitted(other, pending, '/ui/account/keep')
    expect(statusOf(kept)).toBe('Your account stays.')
    server.clock.advance(8 * DAY)
    await server.context.cleanup.run()
    const { page: still } = await onAccount(server, user)
    expect(still.text).toContain(user.email)
  })
})
