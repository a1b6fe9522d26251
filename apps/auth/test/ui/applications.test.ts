import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { formOf } from '@signet/testkit'
import { decodeJwt } from 'jose'
import { aUser, post } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import {
  aBrowser,
  APPLICATION,
  aUserWithTotp,
  fragmentOf,
  pkce,
  settle,
  signIn,
  startUi,
  uiPath,
} from './support.js'

let server: TestServer
beforeAll(async () => {
  server = await startUi()
})
afterAll(() => server.close())

const STATE = 'a state & more/="<'
const queryOf = (location: string | null) => Object.fromEntries(new URL(location ?? '').searchParams)
const asked = (more: Record<string, string> = {}) => {
  const { verifier, query } = pkce()
  return { verifier, query: { redirect_to: APPLICATION, state: STATE, ...query, ...more } }
}

async function redeem(location: string | null, verifier: string) {
  const { code } = queryOf(location)
  return post(server, '/token?grant_type=pkce', { auth_code: code, code_verifier: verifier })
}

describe('an application that sends people to the pages', () => {
  it('gets its state back, with the code and in the fragment', async () => {
    const user = await aUser(server)
    const { query } = asked()
    const { code, ...rest } = queryOf((await signIn(aBrowser(server), user, query)).location)
    expect([typeof code, rest]).toEqual(['string', { state: STATE }])
    const done = await signIn(aBrowser(server), user, { redirect_to: APPLICATION, state: STATE })
    expect(fragmentOf(done)).toMatchObject({ state: STATE })
  })

  it('is told that the person cancelled', async () => {
    const { text } = await aBrowser(server).get(uiPath(asked().query))
    const href = /<a href="([^"]*)">Cancel</
      .exec(text)?.[1]
      ?.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    expect(href).toMatch(/^https:\/\/other\.example\.com\/signed-in\?/)
    expect(queryOf(href ?? '')).toMatchObject({ error: 'access_denied', state: STATE })
    expect((await aBrowser(server).get('/ui')).text).not.toContain('Cancel')
  })

  it('never gets an error or a code where it is not allowed to be', async () => {
    for (const prompt of ['none', 'login']) {
      const { query } = asked({ redirect_to: 'https://evil.example/x', prompt })
      const seen = await aBrowser(server).get(uiPath(query))
      expect(`${seen.location ?? ''}${seen.text}`).not.toContain('evil.example')
    }
  })

  it('may name the address, which is only a proposal', async () => {
    const hint = '"><img src=x>@example.com'
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({ login_hint: hint }))
    expect(page.text).not.toContain('<img')
    expect(page.text).toContain('@example.com')
    expect(formOf(page, '/ui/sign-in').fields).toMatchObject({ login_hint: hint })
  })

  it.each([
    ['max_age', 'soon'],
    ['max_age', '-1'],
    ['prompt', 'none login'],
    ['state', 'x'.repeat(1025)],
  ])('is refused with %s=%s before anybody types a password', async (name, value) => {
    expect((await aBrowser(server).get(uiPath({ ...asked().query, [name]: value }))).status).toBe(400)
  })

  it('opens the form for a new account with prompt=create', async () => {
    const page = await settle(aBrowser(server), await aBrowser(server).get(uiPath({ prompt: 'create' })))
    expect(page.text).toContain('Create an account</h1>')
  })
})

describe('a browser in which somebody has signed in', () => {
  it('serves a second application without another password or factor, each with its own session', async () => {
    const user = await aUserWithTotp(server)
    const browser = aBrowser(server)
    const first = asked()
    const page = await settle(browser, await signIn(browser, user, first.query))
    const done = await browser.submit(page, '/ui/factor', { code: user.code() })
    const second = asked()
    const shown = await browser.get(uiPath(second.query))
    const again = await browser.submit(shown, '/ui/continue')
    const answers = [
      await redeem(done.location, first.verifier),
      await redeem(again.location, second.verifier),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    const claims = answers.map(({ body }) => decodeJwt(String(body['access_token'])))
    expect(claims.map((claim) => claim['aal'])).toEqual(['aal2', 'aal2'])
    expect(claims[0]?.['amr']).toEqual(claims[1]?.['amr'])
    expect(claims[0]?.['session_id']).not.toBe(claims[1]?.['session_id'])
    // Two holders of one refresh token would end each other's session.
    for (const { body } of answers) {
      const refreshed = await post(server, '/token?grant_type=refresh_token', {
        refresh_token: body['refresh_token'],
      })
      expect(refreshed.status).toBe(200)
    }
  })

  it('answers prompt=none with a code, silently', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    await signIn(browser, user)
    const { query, verifier } = asked({ prompt: 'none', login_hint: user.email.toUpperCase() })
    const { location, status } = await browser.get(uiPath(query))
    expect([status, queryOf(location)['state']]).toEqual([303, STATE])
    expect((await redeem(location, verifier)).body['user']).toMatchObject({ email: user.email })
  })

  it.each([
    ['nobody is signed in', {}, 'login_required', false],
    ['somebody else is', { login_hint: 'other@example.com' }, 'login_required', true],
    [
      'tokens would travel without PKCE',
      { code_challenge: '', code_challenge_method: '' },
      'invalid_request',
      true,
    ],
    [
      'it is a program that claims a scheme',
      { redirect_to: 'com.example.app://x' },
      'interaction_required',
      true,
    ],
  ])('answers prompt=none with an error when %s', async (_, more, error, isSignedIn) => {
    const browser = aBrowser(server)
    if (isSignedIn) await signIn(browser, await aUser(server))
    const { location } = await browser.get(uiPath(asked({ prompt: 'none', ...more }).query))
    expect(location?.replace('#', '?')).toContain(`error=${error}`)
    expect(location).not.toContain('code=')
  })

  it('does not answer prompt=none before the second factor', async () => {
    const user = await aUserWithTotp(server)
    const browser = aBrowser(server)
    await signIn(browser, user)
    const { location } = await browser.get(uiPath(asked({ prompt: 'none' }).query))
    expect(queryOf(location)['error']).toBe('interaction_required')
  })

  it('asks for a new sign-in with prompt=login, also when the form of the old one is sent', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    await signIn(browser, user)
    const account = await browser.get(uiPath(asked().query))
    const { query, verifier } = asked({ prompt: 'login' })
    const shown = await browser.get(uiPath(query))
    expect(shown.text).toContain('name="password"')
    const forced = await browser.submit(account, '/ui/continue', query)
    expect(forced.location).toContain('/ui?')
    server.clock.advance(60_000)
    const done = await browser.submit(shown, '/ui/sign-in', {
      identifier: user.email,
      password: user.password,
    })
    const { body } = await redeem(done.location, verifier)
    const [proof] = decodeJwt(String(body['access_token']))['amr'] as { timestamp: number }[]
    expect(proof?.timestamp).toBe(Math.floor(server.clock.now().getTime() / 1000))
  })

  it('asks again when the sign-in is older than max_age', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    await signIn(browser, user)
    server.clock.advance(60_000)
    expect((await browser.get(uiPath(asked({ max_age: '60' }).query))).text).not.toContain('name="password"')
    server.clock.advance(1000)
    expect((await browser.get(uiPath(asked({ max_age: '60' }).query))).text).toContain('name="password"')
    const { location } = await browser.get(uiPath(asked({ max_age: '60', prompt: 'none' }).query))
    expect(queryOf(location)['error']).toBe('login_required')
  })

  it('signs out when the application asks and the person agrees, and goes where it says', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    await signIn(browser, user)
    const path = uiPath({ redirect_to: APPLICATION, state: STATE }, '/sign-out')
    const page = await browser.get(path)
    expect(page.text).toContain('Sign out?')
    expect((await browser.get('/ui')).text).toContain(user.email)
    const out = await browser.submit(page, '/ui/sign-out')
    expect([new URL(out.location ?? '').origin, queryOf(out.location)]).toEqual([
      'https://other.example.com',
      { state: STATE },
    ])
    expect((await browser.get('/ui')).text).not.toContain(user.email)
    expect((await browser.get(path)).location).toBe(out.location)
  })
})

describe('the session of an application', () => {
  it('is as old as the sign-in, and ends neither with that of the pages nor by it', async () => {
    const own = await startUi({ AUTH_SESSIONS_TIMEBOX: '3600', AUTH_UI_SESSION_DURATION: '1200' })
    const user = await aUser(own)
    const browser = aBrowser(own)
    await signIn(browser, user)
    own.clock.advance(1_000_000)
    const shown = await browser.get(uiPath({ redirect_to: APPLICATION }))
    const tokens = fragmentOf(await browser.submit(shown, '/ui/continue'))
    let token: unknown = tokens['refresh_token']
    const refresh = async () => {
      const { status, body } = await post(own, '/token?grant_type=refresh_token', { refresh_token: token })
      token = body['refresh_token']
      return status
    }
    own.clock.advance(1_000_000)
    expect((await browser.get('/ui')).text).not.toContain(user.email)
    expect(await refresh()).toBe(200)
    own.clock.advance(1_599_000)
    expect(await refresh()).toBe(200)
    own.clock.advance(1001)
    expect(await refresh()).toBe(400)
    await own.close()
  })

  it('replaces that of the pages where a person has one at most', async () => {
    const own = await startUi({ AUTH_SESSIONS_SINGLE_PER_USER: 'true' })
    const user = await aUser(own)
    const browser = aBrowser(own)
    const tokens = fragmentOf(await signIn(browser, user, { redirect_to: APPLICATION }))
    expect((await browser.get('/ui')).text).not.toContain(user.email)
    const { status } = await post(own, '/token?grant_type=refresh_token', {
      refresh_token: tokens['refresh_token'],
    })
    expect(status).toBe(200)
    await own.close()
  })
})
