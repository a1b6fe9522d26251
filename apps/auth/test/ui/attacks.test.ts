import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { formOf } from '@signet/testkit'
import { aUser, get, mailTo, PASSWORD, post } from '../support/api.js'
import { startServer, type TestServer } from '../support/server.js'
import { aBrowser, APPLICATION, noticeOf, openLink, settle, signIn, startUi, uiPath } from './support.js'

let server: TestServer
beforeAll(async () => {
  server = await startUi({ AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true' })
})
afterAll(() => server.close())

describe('every page', () => {
  it.each(['/ui', '/ui/sign-up', '/ui/forgot', '/ui/return?error=x', '/ui/nothing'])(
    '%s lets no script in but its own, no frame around, no cache and no other site near',
    async (path) => {
      const { headers, text } = await aBrowser(server).get(path, { origin: 'https://evil.example' })
      const policy = headers.get('content-security-policy') ?? ''
      const nonce = /style-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
      const scripts = path === '/ui/nothing' ? '' : ` script-src 'nonce-${nonce}';`
      expect(policy).toBe(
        `default-src 'none'; style-src 'nonce-${nonce}';${scripts} img-src 'self'; base-uri 'none'; frame-ancestors 'none'`,
      )
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('referrer-policy')).toBe('same-origin')
      expect(headers.get('access-control-allow-origin')).toBeNull()
      const own = /<script src="\/ui\/form\.js\?v=[\w-]{10}" nonce="[^"]+" defer><\/script>/
      expect(text.replace(own, '')).not.toMatch(/<script|javascript:|\son\w+=/i)
      expect(own.test(text)).toBe(path !== '/ui/nothing')
    },
  )

  it('has one script, of the same origin, which browsers keep', async () => {
    const browser = aBrowser(server)
    const address = /src="(\/ui\/form\.js[^"]*)"/.exec((await browser.get('/ui')).text)?.[1] ?? ''
    const { status, headers } = await browser.get(address)
    expect(status).toBe(200)
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    expect(headers.getSetCookie()).toEqual([])
  })

  it('has hardened cookies where the public address is https, and links below its path', async () => {
    const proxied = await startServer()
    const { headers, text } = await aBrowser(proxied).get('/ui')
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-signet_ui=[\w-]{32}; Path=\/; Secure; HttpOnly; SameSite=Lax$/),
    ])
    expect(headers.get('strict-transport-security')).toBe('max-age=31536000')
    expect(text).toContain('action="/auth/v1/ui/sign-in"')
    expect(text).toContain('href="/auth/v1/ui/sign-up"')
    await proxied.close()
  })

  it('prints nothing unescaped', async () => {
    const browser = aBrowser(server)
    const page = await browser.get('/ui')
    const typed = '"><img src=x onerror=alert(1)>@example.com'
    const seen = await browser.submit(page, '/ui/sign-in', { identifier: typed, password: 'x' })
    expect(seen.text).not.toContain('<img')
    const target = 'https://other.example.com/"><script>alert(1)</script>'
    expect((await browser.get(uiPath({ redirect_to: target }))).text).not.toContain('<script>')
  })

  it('has an answer for odd requests', async () => {
    const browser = aBrowser(server)
    const page = await browser.get('/ui')
    expect((await browser.post('/ui/code/status', {})).status).toBe(405)
    expect((await browser.submit(page, '/ui/sign-in', { identifier: 'x'.repeat(20_000) })).status).toBe(413)
    expect((await browser.submit(page, '/ui/sign-in', { identifier: 'a\0b@example.com' })).status).toBe(400)
    expect((await browser.get('/ui?redirect_to=a&redirect_to=b&__proto__=x')).status).toBe(400)
    expect((await browser.get('/ui?redirect_to=a&__proto__=x')).status).toBe(200)
    expect((await browser.get('/ui/return?code[]=x')).status).toBe(303)
  })
})

describe('a form', () => {
  const forms = [
    ['/ui/sign-in', { identifier: 'x@example.com', password: PASSWORD }],
    ['/ui/mail', { identifier: 'x@example.com' }],
    ['/ui/sign-up', { identifier: 'x@example.com', password: PASSWORD }],
    ['/ui/forgot', { email: 'x@example.com' }],
    ['/ui/code', { sent: 'x', code: '123456' }],
    ['/ui/code/resend', { sent: 'x' }],
    ['/ui/link', { type: 'magiclink', token: 'x' }],
    ['/ui/link/confirm', { type: 'magiclink', token: 'x', number: '12' }],
    ['/ui/provider', { provider: 'github' }],
    ['/ui/factor', { code: '123456' }],
    ['/ui/factor/send', {}],
    ['/ui/password', { password: PASSWORD }],
    ['/ui/password/code', {}],
    ['/ui/continue', {}],
    ['/ui/sign-out', {}],
    ['/ui/factor/recovery', { code: '22222-22222' }],
    ['/ui/account/session/end', { session: 'x' }],
    ['/ui/account/sessions/end', {}],
    ['/ui/account/link', { provider: 'github' }],
    ['/ui/account/unlink', { identity: 'x' }],
    ['/ui/account/email', { email: 'x@example.com' }],
    ['/ui/account/email/confirm', { half: 'code', code: '123456' }],
    ['/ui/account/email/cancel', {}],
    ['/ui/account/authenticator', { name: 'x' }],
    ['/ui/account/factor/remove', { factor: 'x' }],
    ['/ui/account/recovery-codes', {}],
    ['/ui/account/delete', { password: PASSWORD }],
    ['/ui/account/delete/code', {}],
    ['/ui/account/keep', {}],
  ] as const

  const ofLinks: string = '/ui/link'
  const reloaded = forms.map(([path]) => path).filter((path) => path !== ofLinks)
  it.each(reloaded)('%s leads to a page when it is reloaded', async (path) => {
    const browser = aBrowser(server)
    const seen = await settle(browser, await browser.get(path))
    expect([200, 303]).toContain(seen.status)
  })

  it.each(forms)(
    '%s is refused without its token, or with one of another browser or form',
    async (path, fields) => {
      const browser = aBrowser(server)
      const strange = formOf(await aBrowser(server).get('/ui/forgot'), '/ui/forgot').fields['csrf'] ?? ''
      expect((await browser.post(path, fields)).status).toBe(403)
      await browser.get('/ui')
      expect((await browser.post(path, fields)).status).toBe(403)
      expect((await browser.post(path, { ...fields, csrf: strange })).status).toBe(403)
      const own = formOf(await browser.get('/ui/forgot'), '/ui/forgot').fields['csrf'] ?? ''
      if (path !== '/ui/forgot') expect((await browser.post(path, { ...fields, csrf: own })).status).toBe(403)
    },
  )

  it.each([{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])(
    'is refused with %j',
    async (headers) => {
      const user = await aUser(server)
      const browser = aBrowser(server)
      const page = await browser.get('/ui')
      const fields = { identifier: user.email, password: PASSWORD }
      expect((await browser.submit(page, '/ui/sign-in', fields, headers)).status).toBe(403)
      expect((await browser.get('/ui')).text).not.toContain(user.email)
    },
  )

  it('of the time before somebody signed in is of no use after it', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const before = await browser.get('/ui')
    await signIn(browser, user)
    const { email: identifier, password } = await aUser(server)
    const sent = await browser.submit(before, '/ui/sign-in', { identifier, password })
    expect([sent.status, (await browser.get('/ui')).text.includes(user.email)]).toEqual([403, true])
  })
})

describe('the mark of who signed in', () => {
  const MARK = 'signet_ui_session'

  it('works in no other browser, and not when it was changed', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    await signIn(browser, user)
    const mark = browser.cookies.get(MARK) ?? ''
    const thief = aBrowser(server)
    await thief.get('/ui')
    thief.cookies.set(MARK, mark)
    expect((await thief.get('/ui')).text).not.toContain(user.email)
    browser.cookies.set(MARK, `${mark.slice(0, -2)}${mark.endsWith('AA') ? 'BB' : 'AA'}`)
    expect((await browser.get('/ui')).text).not.toContain(user.email)
  })

  it('ends when the settings say so', async () => {
    const own = await startUi({ AUTH_UI_SESSION_DURATION: '600' })
    const user = await aUser(own)
    const browser = aBrowser(own)
    expect((await settle(browser, await signIn(browser, user))).text).toContain(user.email)
    own.clock.advance(601_000)
    expect((await browser.get('/ui')).text).not.toContain(user.email)
    await own.close()
  })
})

describe('signing in', () => {
  it('tells nobody who has an account', async () => {
    const user = await aUser(server)
    const unconfirmed = 'unconfirmed@example.com'
    await post(server, '/signup', { email: unconfirmed, password: PASSWORD })
    const notices = await Promise.all(
      [user.email, 'nobody@example.com', unconfirmed].map(async (email) => {
        const seen = await signIn(aBrowser(server), { email, password: 'wrong password' })
        return [seen.status, noticeOf(seen)]
      }),
    )
    expect(new Set(notices.map((notice) => JSON.stringify(notice))).size).toBe(1)
  })

  it('shares the limits of the API', async () => {
    const limited = await startUi({ AUTH_SECURITY_FORWARDED_FOR_ENABLED: 'true' })
    const from = { 'x-forwarded-for': '203.0.113.7' }
    const body = { email: 'nobody@example.com', password: 'x' }
    for (let i = 0; i < 30; i += 1) await post(limited, '/token?grant_type=password', body, { headers: from })
    const seen = await signIn(aBrowser(limited, from), { email: body.email, password: 'x' })
    expect(seen.status).toBe(429)
    expect(Number(seen.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(seen.text).toContain('Too many attempts')
    const other = { 'x-forwarded-for': '203.0.113.8' }
    expect((await signIn(aBrowser(limited, other), { email: body.email, password: 'x' })).status).toBe(400)
    await limited.close()
  })

  it('leaves no password, code or token in the log', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const before = (await mailTo(server, user.email)).mail
    await browser.submit(await browser.get('/ui'), '/ui/mail', { identifier: user.email })
    const { link = '', token = '' } = await mailTo(server, user.email, before)
    const opened = await openLink(browser, link)
    await browser.submit(opened, '/ui/link')
    const done = await signIn(aBrowser(server), user, { redirect_to: APPLICATION })
    const secrets = [PASSWORD, token, browser.cookies.get('signet_ui') ?? '', done.location ?? '']
    const log = JSON.stringify(server.lines)
    expect(secrets.filter((secret) => secret === '' || log.includes(secret))).toEqual([])
    expect(log).toContain('/ui/sign-in')
  })
})

it('does not open the API to the way back of its emails', async () => {
  // Emails may lead to `/ui/return` although it is off the allow-list, because it is our own page. Without a PKCE challenge, it redeems
  // nothing.
  const own = await startUi({ AUTH_URI_ALLOW_LIST: '' })
  const user = await aUser(own)
  const before = (await mailTo(own, user.email)).mail
  await post(own, `/magiclink?redirect_to=${encodeURIComponent(`${own.url}/ui/return?x`)}`, {
    email: user.email,
  })
  const { link = '' } = await mailTo(own, user.email, before)
  const answer = await get(own, link.slice(own.url.length))
  const browser = aBrowser(own)
  const seen = await settle(
    browser,
    await browser.get((answer.headers.get('location') ?? '').split('#')[0] ?? ''),
  )
  expect(seen.text).not.toContain('You are signed in')
  for (const near of ['/ui/returned', '/ui/return/x', '/ui', '/ui/return#', '/user']) {
    own.clock.advance(901_000)
    await post(own, `/recover?redirect_to=${encodeURIComponent(own.url + near)}`, { email: user.email })
  }
  const targets = own.inbox
    .messages({ to: user.email })
    .flatMap(({ links }) => links.filter((url) => url.includes('type=recovery')))
    .map((url) => new URL(url).searchParams.get('redirect_to'))
  expect(new Set(targets)).toEqual(new Set(['https://app.example.com']))
  await own.close()
})
