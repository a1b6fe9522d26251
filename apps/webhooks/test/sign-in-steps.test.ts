import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { formOf } from './support/browser.js'
import type { User } from './support/identity-double.js'
import { land } from './support/landing.js'
import { OAuthTester } from './support/oauth.js'
import { startHarness } from './support/harness.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth({
  env: {
    WEBHOOKS_SIGN_IN_MAGIC_LINK: 'true',
    WEBHOOKS_SIGN_IN_PROVIDERS: 'github,google',
    WEBHOOKS_IDENTITY_PUBLIC_URL: 'http://id.example/auth',
  },
})

const totp = (code = '123456', name = '') => ({ id: randomUUID(), type: 'totp' as const, code, name })
const phone = (code = '654321', name = 'my phone') => ({
  id: randomUUID(),
  type: 'phone' as const,
  code,
  name,
})

/** Past the password; the page that asks for the second factor. */
async function factorPage(user: User) {
  const { browser, page } = await oauth.signInPage()
  const answer = await browser.submit(page, '/login', { identifier: user.email, password: user.password })
  expect(answer.location).toMatch(/^\/oauth\/authorize\/factor\?txn=\w{43}$/)
  return { browser, page: await browser.follow(answer) }
}

describe('an account with a second factor', () => {
  it('gets to the consent page only after the code', async () => {
    const user = harness.identity.addUser({ factors: [totp()] })
    const { browser, page } = await factorPage(user)
    expect(page.text).toContain('your authenticator app')
    const wrong = await browser.submit(page, '/factor', { code: '000000' })
    expect([wrong.status, wrong.text.includes('is wrong')]).toEqual([400, true])
    const before = browser.cookies.get('rws_session')
    const answer = await browser.submit(wrong, '/factor', { code: '123 456' })
    expect(answer.status).toBe(303)
    expect(browser.cookies.get('rws_session')).not.toBe(before)
    expect((await browser.follow(answer)).text).toContain(user.email)
  })

  it('is not signed in before: neither consent page nor decision', async () => {
    const user = harness.identity.addUser({ factors: [totp()] })
    const { browser, page } = await factorPage(user)
    const { txn = '' } = formOf(page, '/factor').fields
    const consent = await browser.get(`/oauth/authorize/consent?txn=${txn}`)
    expect(consent.text).toContain('name="password"')
    const { rows } = await harness.db.query('select 1 from login_sessions where account_id = $1', [user.id])
    expect(rows).toEqual([])
  })

  it('is sent a code only when a phone is chosen, and may change between factors', async () => {
    const user = harness.identity.addUser({ factors: [phone('111222'), totp('333444', 'my app')] })
    const { browser, page } = await factorPage(user)
    expect(page.text).toContain('my app')
    const asked = harness.identity.asked.length
    const chosen = await browser.follow(await browser.submit(page, '/challenge'))
    expect(chosen.text).toContain('was sent to my phone')
    expect(harness.identity.asked.slice(asked).map(({ path }) => path.split('/').at(-1))).toEqual([
      'challenge',
    ])
    const answer = await browser.submit(chosen, '/factor', { code: '111222' })
    expect((await browser.follow(answer)).text).toContain('Approve')
  })

  it('with a phone alone is asked before a message is sent', async () => {
    const user = harness.identity.addUser({ factors: [phone('111222')] })
    const { browser, page } = await factorPage(user)
    expect(page.text).toContain('Send a code')
    expect(page.text).not.toContain('name="code"')
    const sent = await browser.follow(await browser.submit(page, '/challenge'))
    const answer = await browser.submit(sent, '/factor', { code: '111222' })
    expect(answer.status).toBe(303)
  })

  it('cannot be asked about a factor of somebody else', async () => {
    const other = harness.identity.addUser({ factors: [totp()] })
    const { browser, page } = await factorPage(harness.identity.addUser({ factors: [phone()] }))
    const answer = await browser.submit(page, '/challenge', { factor: other.factors[0]?.id ?? '' })
    expect(answer.status).toBe(400)
  })

  it('keeps the JWT encrypted meanwhile, and bound to its session', async () => {
    const user = harness.identity.addUser({ factors: [totp()] })
    await factorPage(user)
    const { rows } = await harness.db.query<{ pending: Buffer }>(
      'select pending_ciphertext as pending from login_sessions where pending_ciphertext is not null',
    )
    for (const { pending } of rows) expect(pending.toString('latin1')).not.toContain('eyJ')
    const { browser: stranger, page } = await oauth.signInPage()
    await harness.db.query(
      `update login_sessions set pending_ciphertext = $1, pending_key_id = 'k1'
        where pending_ciphertext is null and account_id is null`,
      [rows[0]?.pending],
    )
    const { txn = '' } = formOf(page, '/login').fields
    expect((await stranger.get(`/oauth/authorize/factor?txn=${txn}`)).text).toContain('name="password"')
  })

  it('sees the sign-in page without a completed first step', async () => {
    const { browser, page } = await oauth.signInPage()
    const { txn = '' } = formOf(page, '/login').fields
    expect((await browser.get(`/oauth/authorize/factor?txn=${txn}`)).text).toContain('name="password"')
  })
})

describe('a sign-in link by email', () => {
  it('is asked for at the identity server, for existing users only, and leads back to our page', async () => {
    const { browser, page } = await oauth.signInPage()
    const { fields } = formOf(page, '/login')
    const answer = await browser.post('/oauth/authorize/mail', {
      ...fields,
      identifier: ' a@example.com ',
      password: '',
    })
    expect([answer.status, answer.text.includes('Check your email')]).toEqual([200, true])
    const asked = harness.identity.asked.at(-1)
    const redirectTo = `${harness.base}/oauth/callback?txn=${fields['txn'] ?? ''}`
    expect(asked).toMatchObject({
      path: `/otp?redirect_to=${encodeURIComponent(redirectTo)}`,
      body: { email: 'a@example.com', create_user: false },
    })
    expect(asked?.headers['x-supabase-api-version']).toBe('2024-01-01')
  })

  it('says the same when the identity server refuses, and 400 for an invalid address', async () => {
    const { browser, page } = await oauth.signInPage()
    const { fields } = formOf(page, '/login')
    harness.identity.failWith({ status: 422 })
    const answer = await browser.post('/oauth/authorize/mail', {
      ...fields,
      identifier: 'nobody@example.com',
    })
    harness.identity.failWith(null)
    expect(answer.text).toContain('Check your email')
    expect(
      (await browser.post('/oauth/authorize/mail', { ...fields, identifier: '+4915112345678' })).status,
    ).toBe(400)
  })
})

describe('external providers', () => {
  it('are links to the identity server that lead back to our page', async () => {
    const { page } = await oauth.signInPage()
    const { txn = '' } = formOf(page, '/login').fields
    const [, href = ''] = /href="([^"]*provider=github[^"]*)"[^>]*>Continue with GitHub/.exec(page.text) ?? []
    const url = new URL(href.replaceAll('&#38;', '&'))
    expect(url.origin + url.pathname).toBe('http://id.example/auth/authorize')
    expect(url.searchParams.get('redirect_to')).toBe(`${harness.base}/oauth/callback?txn=${txn}`)
  })
})

describe('the landing page', () => {
  it('signs in with the token of the fragment and goes on to consent', async () => {
    const user = harness.identity.addUser()
    const { browser, page } = await oauth.signInPage()
    const { txn = '' } = formOf(page, '/login').fields
    const before = browser.cookies.get('rws_session')
    const { page: landing, status, location } = await land(browser, txn, harness.identity.jwtFor(user))
    expect([status, location]).toEqual([200, `/oauth/authorize/consent?txn=${txn}`])
    expect(browser.cookies.get('rws_session')).not.toBe(before)
    expect((await browser.get(location ?? '')).text).toContain(user.email)
    const policy = landing.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/script-src 'nonce-[^']+'; connect-src 'self'; base-uri 'none'/)
  })

  it('asks for the second factor when the account has one and the token has not passed it', async () => {
    const user = harness.identity.addUser({ factors: [totp()] })
    const { browser, page } = await oauth.signInPage()
    const { txn = '' } = formOf(page, '/login').fields
    const first = await land(browser, txn, harness.identity.jwtFor(user))
    expect(first.location).toBe(`/oauth/authorize/factor?txn=${txn}`)
    const raised = await land(browser, txn, harness.identity.jwtFor(user, { aal: 'aal2' }))
    expect(raised.location).toBe(`/oauth/authorize/consent?txn=${txn}`)
  })

  it('works only in the browser that started', async () => {
    const { page } = await oauth.signInPage()
    const { txn = '' } = formOf(page, '/login').fields
    const { browser: victim } = await oauth.signInPage()
    expect((await victim.get(`/oauth/callback?txn=${txn}`)).status).toBe(400)
    const attacker = harness.identity.addUser()
    const answer = await victim.post('/oauth/authorize/session', {
      txn,
      csrf: 'x',
      access_token: harness.identity.jwtFor(attacker),
    })
    expect(answer.status).toBe(403)
  })

  it('refuses tokens that are not good, or whose session has ended', async () => {
    const { browser, page } = await oauth.signInPage()
    const { txn = '' } = formOf(page, '/login').fields
    const gone = harness.identity.addUser()
    const token = harness.identity.jwtFor(gone)
    harness.identity.removeUser(gone)
    const service = harness.identity.jwtFor(harness.identity.addUser(), { role: 'service_role' })
    for (const bad of [token, service, 'nonsense', ''])
      expect((await land(browser, txn, bad)).status).toBe(400)
  })

  it('refuses a token from from before the account was signed out everywhere', async () => {
    const user = harness.identity.addUser()
    const token = harness.identity.jwtFor(user)
    await harness.ctx.accounts.signOut(user.id, new Date(), 'signed out everywhere', { requestId: 'test' })
    const { browser, page } = await oauth.signInPage()
    const { txn = '' } = formOf(page, '/login').fields
    expect((await land(browser, txn, token)).status).toBe(400)
  })
})

describe('a CAPTCHA', () => {
  it('is on the page, allowed by its policy, and its answer reaches the identity server', async () => {
    const guarded = await startHarness({
      env: { WEBHOOKS_SIGN_IN_CAPTCHA_PROVIDER: 'turnstile', WEBHOOKS_SIGN_IN_CAPTCHA_SITE_KEY: 'site-key' },
    })
    try {
      guarded.identity.requireCaptcha('solved')
      const tester = new OAuthTester(guarded)
      const user = guarded.identity.addUser()
      const browser = tester.browser()
      const page = await browser.get(tester.authorizeUrl((await tester.client()).client_id))
      expect(page.text).toContain('data-sitekey="site-key"')
      expect(page.headers.get('content-security-policy')).toContain(
        'script-src https://challenges.cloudflare.com;',
      )
      const credentials = { identifier: user.email, password: user.password }
      expect((await browser.submit(page, '/login', credentials)).status).toBe(400)
      const solved = await browser.submit(page, '/login', {
        ...credentials,
        'cf-turnstile-response': 'solved',
      })
      expect(solved.status).toBe(303)
    } finally {
      await guarded.close()
    }
  })
})
