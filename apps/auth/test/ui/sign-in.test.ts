import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { anEmail, aUser, get, mailTo, PASSWORD, post } from '../support/api.js'
import { SITE, startServer, type TestServer } from '../support/server.js'
import {
  aBrowser,
  APPLICATION,
  followLink,
  fragmentOf,
  noticeOf,
  pkce,
  settle,
  signIn,
  startUi,
  submitted,
  uiPath,
} from './support.js'

let server: TestServer
beforeAll(async () => {
  server = await startUi()
})
afterAll(() => server.close())

describe('the sign-in page', () => {
  it('can be switched off', async () => {
    const plain = await startServer({ AUTH_UI_ENABLED: 'false' })
    const answer = await get(plain, '/ui')
    expect([answer.status, answer.body['error_code']]).toEqual([404, 'not_found'])
    await plain.close()
  })

  it('signs in with a password and names the account', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const page = await settle(browser, await signIn(browser, user))
    expect(page.text).toContain('You are signed in')
    expect(page.text).toContain(user.email)
  })

  it('hands an application its session in the fragment', async () => {
    const user = await aUser(server)
    const done = await signIn(aBrowser(server), user, { redirect_to: `${APPLICATION}?a=1` })
    expect(done.status).toBe(303)
    expect(done.location).toMatch(/^https:\/\/other\.example\.com\/signed-in\?a=1#access_token=/)
    const tokens = fragmentOf(done)
    expect(Object.keys(tokens).sort()).toEqual([
      'access_token',
      'expires_at',
      'expires_in',
      'refresh_token',
      'sb',
      'token_type',
    ])
    const { body } = await get(server, '/user', { token: tokens['access_token'] })
    expect(body['email']).toBe(user.email)
    const refreshed = await post(server, '/token?grant_type=refresh_token', {
      refresh_token: tokens['refresh_token'],
    })
    expect(refreshed.status).toBe(200)
  })

  it('hands an application with a challenge a code, which gives one session once', async () => {
    const user = await aUser(server)
    const { verifier, query } = pkce()
    const done = await signIn(aBrowser(server), user, { redirect_to: APPLICATION, ...query })
    const target = new URL(done.location ?? '')
    expect([...target.searchParams.keys()]).toEqual(['code'])
    expect(target.hash).toBe('')
    const code = target.searchParams.get('code')
    const exchange = () =>
      post(server, '/token?grant_type=pkce', { auth_code: code, code_verifier: verifier })
    const answers = await Promise.all(Array.from({ length: 8 }, exchange))
    const won = answers.filter(({ status }) => status === 200)
    expect(won).toHaveLength(1)
    expect(won[0]?.body['user']).toMatchObject({ email: user.email })
    expect(decodeJwt(String(won[0]?.body['access_token']))).toMatchObject({ aal: 'aal1' })
  })

  it('gives no session for a code whose session has ended', async () => {
    const user = await aUser(server)
    const { verifier, query } = pkce()
    const done = await signIn(aBrowser(server), user, { redirect_to: APPLICATION, ...query })
    await post(server, '/logout?scope=global', {}, { token: user.access_token })
    const code = new URL(done.location ?? '').searchParams.get('code')
    const answer = await post(server, '/token?grant_type=pkce', { auth_code: code, code_verifier: verifier })
    expect(answer.status).toBe(403)
  })

  it('refuses half a challenge before anybody types a password', async () => {
    const page = await aBrowser(server).get(uiPath({ redirect_to: APPLICATION, code_challenge: 'short' }))
    expect(page.status).toBe(400)
  })

  it('goes to applications with a scheme of their own', async () => {
    const user = await aUser(server)
    const done = await signIn(aBrowser(server), user, { redirect_to: 'com.example.app://signed-in' })
    expect(done.location).toMatch(/^com\.example\.app:\/\/signed-in#access_token=/)
  })

  it('signs out: the session ends, and the page asks again', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const page = await settle(browser, await signIn(browser, user))
    const { rows } = await server.context.db.query<{ count: string }>(
      'select count(*) from sessions where user_id = $1 and revoked_at is null',
      [user.user.id],
    )
    const out = await settle(browser, await browser.submit(page, '/ui/sign-out'))
    expect(out.text).toContain('Sign in')
    const after = await server.context.db.query<{ count: string }>(
      'select count(*) from sessions where user_id = $1 and revoked_at is null',
      [user.user.id],
    )
    expect(Number(after.rows[0]?.count)).toBe(Number(rows[0]?.count) - 1)
  })

  it('asks somebody who is signed in before an application gets a session', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    await signIn(browser, user)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION }))
    expect(page.text).toContain('other.example.com')
    const done = await browser.submit(page, '/ui/continue')
    expect(fragmentOf(done)).toHaveProperty('access_token')
  })

  it.each([
    ['banned', `update users set banned_until = 'infinity' where id = $1`],
    ['deleted', 'delete from users where id = $1'],
    [
      'signed out elsewhere',
      `update sessions set revoked_at = now(), revoked_reason = 'logout' where user_id = $1`,
    ],
  ])('forgets somebody who was %s', async (_, sql) => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    expect((await settle(browser, await signIn(browser, user))).text).toContain(user.email)
    await server.context.db.query(sql, [user.user.id])
    expect((await browser.get('/ui')).text).not.toContain(user.email)
  })
})

describe('new accounts', () => {
  it('are made with a link that is opened in the same browser', async () => {
    const email = anEmail()
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION }, '/sign-up'))
    const sent = await submitted(browser, page, '/ui/sign-up', { identifier: email, password: PASSWORD })
    expect(sent.text).toContain('Check your email')
    const { link = '' } = await mailTo(server, email)
    const done = await followLink(browser, link)
    expect(done.location).toContain(`${APPLICATION}#access_token=`)
  })

  it('are made with the code of the email, typed in', async () => {
    const email = anEmail()
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({}, '/sign-up'))
    const sent = await submitted(browser, page, '/ui/sign-up', { identifier: email, password: PASSWORD })
    const { code = '' } = await mailTo(server, email)
    const wrong = await browser.submit(sent, '/ui/code', { code: code === '000000' ? '111111' : '000000' })
    expect(noticeOf(wrong)).toContain('wrong')
    const done = await settle(browser, await browser.submit(wrong, '/ui/code', { code }))
    expect(done.text).toContain(email)
  })

  it('say what is wrong with the password', async () => {
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({}, '/sign-up'))
    const seen = await browser.submit(page, '/ui/sign-up', { identifier: anEmail(), password: 'abc' })
    expect([seen.status, noticeOf(seen)]).toEqual([422, 'This password is too short.'])
    expect(seen.text).toContain('At least 6 characters.')
  })

  it('have no page while they are switched off', async () => {
    const closed = await startUi({ AUTH_DISABLE_SIGNUP: 'true' })
    expect((await aBrowser(closed).get('/ui')).text).not.toContain('Create an account')
    expect((await aBrowser(closed).get('/ui/sign-up')).status).toBe(404)
    await closed.close()
  })
})

describe('where people are sent', () => {
  it.each([
    'https://evil.example',
    '//evil.example/signed-in',
    'https://other.example.com.evil.example/signed-in',
    'https://other.example.com@evil.example/signed-in',
    'https://other.example.com\\@evil.example',
    'javascript:alert(1)',
    'data:text/html,hello',
    `${APPLICATION}\nX-Injected: 1`,
    `https://other.example.com/${'a'.repeat(3000)}`,
  ])('is the site for %j', async (target) => {
    const user = await aUser(server)
    const done = await signIn(aBrowser(server), user, { redirect_to: target })
    expect(done.location).toMatch(new RegExp(`^${SITE}#access_token=`))
  })
})
