import { describe, expect, it } from '@jest/globals'
import type { FormBrowser, Seen } from '@signet/testkit'
import { aVisitor } from './support/portal.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth({ env: { WEBHOOKS_IDENTITY_CLIENT_IP_HEADER: 'X-Client-Address' } })

/** The address to which the sign-in page redirects after a sign-in, with a code for the user. */
const answerTo = ({ location }: Seen, user = harness.identity.addUser(), claims = {}) =>
  harness.identity.answerTo(location ?? '', user, claims)
const cookieOf = (browser: FormBrowser) => browser.cookies.get('signet_session')
const isSignedIn = async (browser: FormBrowser, email: string) =>
  (await browser.get('/')).text.includes(email)
const FAILED = 'You are not signed in'

describe('the way to the sign-in page', () => {
  it('carries a return address, a PKCE challenge and what the application wants', async () => {
    const { redirect } = await oauth.begun({ max_age: '60', login_hint: 'ana@example.com', prompt: 'login' })
    const url = new URL(redirect.location ?? '')
    expect([redirect.status, `${url.origin}${url.pathname}`]).toEqual([302, `${harness.identity.url}/ui`])
    expect(Object.fromEntries(url.searchParams)).toEqual({
      redirect_to: expect.stringMatching(
        new RegExp(`^${harness.base}/sign-in/callback\\?state=[\\w-]+$`),
      ) as unknown,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/) as unknown,
      code_challenge_method: 's256',
      prompt: 'login',
      max_age: '0',
      login_hint: 'ana@example.com',
    })
  })

  it('never repeats a challenge', async () => {
    const { browser } = await oauth.begun()
    const challenges = [await browser.get('/sign-in'), await browser.get('/sign-in')].map(({ location }) =>
      new URL(location ?? '').searchParams.get('code_challenge'),
    )
    expect(new Set(challenges).size).toBe(2)
  })

  it.each([
    ['/docs?a=1', '/docs?a=1'],
    ['/portal', '/portal'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/x/..//evil.example', '/'],
    ['https://evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['/\t/evil.example', '/'],
    [`/${'a'.repeat(1000)}`, '/'],
    ['', '/'],
  ])('goes on at %s by way of %s', async (wanted, path) => {
    const user = harness.identity.addUser()
    const browser = oauth.browser()
    const start = await browser.get(`/sign-in?return_to=${encodeURIComponent(wanted)}`)
    const back = await browser.get(answerTo(start, user))
    expect([back.status, back.location]).toEqual([302, path])
    // A browser that is signed in is redirected there at once.
    const again = await browser.get(`/sign-in?return_to=${encodeURIComponent(wanted)}`)
    expect(again.location).toBe(path)
  })
})

describe('the way back', () => {
  it('exchanges the code with its verifier and the address of the browser, and no logout ever', async () => {
    const user = harness.identity.addUser()
    const { browser, redirect } = await oauth.begun()
    const consent = await browser.follow(await browser.get(answerTo(redirect, user)))
    expect(consent.text).toContain(user.email)
    const asked = harness.identity.asked.findLast(({ path }) => path.startsWith('/token'))
    expect(asked).toMatchObject({ method: 'POST', path: '/token?grant_type=pkce' })
    expect(asked?.headers['x-client-address']).toBe('127.0.0.1')
    await browser.submit(consent, '/logout')
    expect(harness.identity.asked.filter(({ path }) => path.includes('logout'))).toEqual([])
  })

  it('refuses an attacker’s code and state in another browser (login CSRF)', async () => {
    const attacker = harness.identity.addUser()
    const { redirect } = await oauth.begun()
    const { browser: victim } = await oauth.begun()
    const asked = harness.identity.asked.length
    const answer = await victim.get(answerTo(redirect, attacker))
    expect([answer.status, answer.location]).toEqual([400, null])
    expect(answer.text).toContain(FAILED)
    expect(harness.identity.asked).toHaveLength(asked)
    expect(await isSignedIn(victim, attacker.email)).toBe(false)
    const stranger = oauth.browser()
    expect((await stranger.get(answerTo(redirect, attacker))).status).toBe(400)
  })

  it('refuses a code of another sign-in together with the browser’s own state (code injection)', async () => {
    const attacker = harness.identity.addUser()
    const { redirect: theirs } = await oauth.begun()
    const stolen = new URL(answerTo(theirs, attacker)).searchParams.get('code') ?? ''
    const { browser, redirect } = await oauth.begun()
    const back = new URL(answerTo(redirect))
    back.searchParams.set('code', stolen)
    const answer = await browser.get(back.href)
    expect([answer.status, await isSignedIn(browser, attacker.email)]).toEqual([400, false])
  })

  it.each(['', 'x', 'A'.repeat(80)])('refuses the state %j', async (state) => {
    const { browser, redirect } = await oauth.begun()
    const back = new URL(answerTo(redirect))
    back.searchParams.set('state', state)
    expect((await browser.get(back.href)).status).toBe(400)
  })

  it('refuses a state that was changed to lead elsewhere', async () => {
    const { browser, redirect } = await oauth.begun()
    const back = new URL(answerTo(redirect))
    const bytes = Buffer.from(back.searchParams.get('state') ?? '', 'base64url')
    const changed = Buffer.concat([bytes.subarray(0, 48), Buffer.from('//evil.example')])
    back.searchParams.set('state', changed.toString('base64url'))
    const answer = await browser.get(back.href)
    expect([answer.status, answer.text.includes('evil.example')]).toEqual([400, false])
    // Nor in a signed-in browser, where an old answer redirects without a check of its key.
    await browser.get(answerTo(await browser.get('/sign-in')))
    expect((await browser.get(back.href)).location).toBeNull()
  })

  it('gives the session a new id, and a code works once', async () => {
    const user = harness.identity.addUser()
    const { browser, redirect } = await oauth.begun()
    const [before, back] = [cookieOf(browser), answerTo(redirect, user)]
    const first = await browser.get(back)
    const after = cookieOf(browser)
    expect(after).not.toBe(before)
    const asked = harness.identity.asked.length
    const replayed = await browser.get(back)
    expect([replayed.location, cookieOf(browser)]).toEqual([first.location, after])
    expect(harness.identity.asked).toHaveLength(asked)
    // Without the session that it created, the answer is refused.
    browser.cookies.set('signet_session', before ?? '')
    expect((await browser.get(back)).status).toBe(400)
  })

  it('of ten simultaneous answers signs in once', async () => {
    const user = harness.identity.addUser()
    const { browser, redirect } = await oauth.begun()
    const back = answerTo(redirect, user)
    const cookie = `signet_session=${cookieOf(browser) ?? ''}`
    const answers = await Promise.all(Array.from({ length: 10 }, () => oauth.browser().get(back, { cookie })))
    expect(answers.filter(({ headers }) => headers.has('set-cookie'))).toHaveLength(1)
    const { rows } = await harness.db.query('select 1 from login_sessions where account_id = $1', [user.id])
    expect(rows).toHaveLength(1)
  })

  it('lets a second tab go on where it was, as who is signed in by then', async () => {
    const [first, second] = [harness.identity.addUser(), harness.identity.addUser()]
    const { browser, redirect } = await oauth.begun()
    const client = await oauth.client()
    const other = await browser.get(oauth.authorizeUrl(client.client_id))
    await browser.get(answerTo(redirect, first))
    const late = await browser.follow(await browser.get(answerTo(other, second)))
    expect([late.status, late.text.includes(first.email)]).toEqual([200, true])
  })

  it('shows only words of ours when nobody signed in, and a way to try again', async () => {
    const { browser, redirect } = await oauth.begun()
    const back = new URL(answerTo(redirect))
    back.searchParams.delete('code')
    back.searchParams.set('error', 'access_denied')
    back.searchParams.set('error_description', 'Call +1 555 now')
    const page = await browser.get(back.href)
    expect(page.status).toBe(400)
    expect(page.text).not.toContain('555')
    const [, retry = ''] = /class="button" href="([^"]*)"/.exec(page.text) ?? []
    const again = await browser.get(retry)
    expect(again.text).toContain('Sign in to continue')
    expect((await browser.get(`/oauth/authorize/sign-in?txn=${oauth.txnOf(redirect)}`)).location).toContain(
      '/ui?',
    )
  })

  it('tells somebody who gave up signing in again that they still are signed in, and leads back', async () => {
    const { browser, open } = await aVisitor({ harness, oauth })
    const back = new URL(answerTo(await browser.get('/sign-in?fresh=1&return_to=/portal/tokens')))
    back.searchParams.delete('code')
    const page = await browser.get(back.href)
    expect([page.status, page.text.includes(FAILED)]).toEqual([400, false])
    expect(page.text).toMatch(/You are still signed in[^]*href="\/portal\/tokens">Continue</)
    expect((await open('/tokens')).status).toBe(200)
  })

  it('does not take a sign-in without the second factor of the account', async () => {
    const user = harness.identity.addUser({ secondFactor: true })
    const { browser, redirect } = await oauth.begun()
    const refused = await browser.get(answerTo(redirect, user))
    expect([refused.status, refused.text.includes('second factor')]).toEqual([400, true])
    expect((await browser.get(answerTo(redirect, user, { aal: 'aal2' }))).status).toBe(302)
  })

  it.each([
    ['is an administrator’s', { role: 'service_role' }],
    ['is anonymous', { is_anonymous: true }],
    ['is for another audience', { aud: 'other' }],
  ])('does not take a person whose token %s', async (_, claims) => {
    const { browser, redirect } = await oauth.begun()
    const answer = await browser.get(answerTo(redirect, harness.identity.addUser(), claims))
    expect([answer.status, answer.text.includes(FAILED)]).toEqual([400, true])
  })

  it('does not take somebody who was banned or signed out everywhere in between', async () => {
    const [banned, signedOut] = [harness.identity.addUser(), harness.identity.addUser()]
    for (const [user, end] of [
      [banned, () => Promise.resolve(Object.assign(banned, { banned: true }))],
      [
        signedOut,
        () =>
          harness.ctx.accounts.signOut(signedOut.id, new Date(Date.now() + 1000), 'signed_out', {
            requestId: 'test',
          }),
      ],
    ] as const) {
      const { browser, redirect } = await oauth.begun()
      const back = answerTo(redirect, user)
      await end()
      expect([(await browser.get(back)).status, await isSignedIn(browser, user.email)]).toEqual([400, false])
    }
  })

  it.each([
    ['busy', 429, 429],
    ['broken', 500, 503],
  ])(
    'when the identity server is %s: a page, and reloading it later signs in',
    async (_, upstream, status) => {
      const user = harness.identity.addUser()
      const { browser, redirect } = await oauth.begun()
      const back = answerTo(redirect, user)
      harness.identity.failWith({ status: upstream })
      const answer = await browser.get(back)
      harness.identity.failWith(null)
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        status,
        'text/html; charset=utf-8',
      ])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await browser.follow(await browser.get(back))).text).toContain(user.email)
    },
  )

  it('logs and keeps neither code nor verifier', async () => {
    const { browser, redirect } = await oauth.begun()
    const back = answerTo(redirect)
    await browser.get(back)
    const { auth_code: code, code_verifier: verifier } = harness.identity.asked.findLast(({ path }) =>
      path.startsWith('/token'),
    )?.body as Record<string, string>
    const { rows } = await harness.db.query<{ text: string }>('select s::text as text from login_sessions s')
    const kept = [...harness.logLines, ...rows.map(({ text }) => text)].join('\n')
    for (const secret of [code, verifier]) expect(kept).not.toContain(secret)
  })
})

describe('signing out', () => {
  it('also leads there when the session here is over, so that nobody can come back with the other one', async () => {
    const { user, browser, open } = await aVisitor({ harness, oauth })
    const page = await open()
    const hourAgo = `update login_sessions set last_seen_at = now() - interval '61 minutes' where account_id = $1`
    await harness.db.query(hourAgo, [user.id])
    const { status, location } = await browser.submit(page, '/sign-out')
    expect([status, location?.startsWith(`${harness.identity.url}/ui/sign-out?`)]).toEqual([303, true])
  })

  it('ends the session here and leads to the sign-in page to end the one there, and back', async () => {
    const user = harness.identity.addUser()
    const browser = oauth.browser()
    await browser.get(answerTo(await browser.get('/sign-in'), user))
    const before = cookieOf(browser)
    const answer = await browser.submit(await browser.get('/'), '/sign-out')
    const url = new URL(answer.location ?? '')
    expect([answer.status, url.origin + url.pathname]).toEqual([303, `${harness.identity.url}/ui/sign-out`])
    const back = await browser.get(url.searchParams.get('redirect_to') ?? '')
    expect([back.status, back.location]).toEqual([302, '/'])
    expect(await isSignedIn(browser, user.email)).toBe(false)
    browser.cookies.set('signet_session', before ?? '')
    expect(await isSignedIn(browser, user.email)).toBe(false)
  })
})
