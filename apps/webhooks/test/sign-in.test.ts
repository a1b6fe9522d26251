import { createHash, createHmac, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { FormBrowser, formOf, type Seen } from './support/browser.js'
import { JWT_SECRET } from './support/identity-double.js'
import { OAuthTester } from './support/oauth.js'
import { startHarness, type Harness } from './support/harness.js'

let harness: Harness
let oauth: OAuthTester
beforeAll(async () => {
  harness = await startHarness({ env: { WEBHOOKS_IDENTITY_CLIENT_IP_HEADER: 'X-Client-Address' } })
  oauth = new OAuthTester(harness)
})
afterAll(() => harness.close())

async function startPage(parameters = {}): Promise<{ browser: FormBrowser; page: Seen }> {
  const client = await oauth.client()
  const browser = oauth.browser()
  return { browser, page: await browser.get(oauth.authorizeUrl(client.client_id, parameters)) }
}

async function consentPage() {
  const user = harness.identity.addUser()
  const { browser, page } = await startPage()
  return { user, browser, page: await oauth.signIn(browser, page, user) }
}

describe('H.3 row 15: no open redirect', () => {
  it('through any parameter of login, consent, logout, decision or callback', async () => {
    const evil = {
      redirect_uri: 'https://evil.example',
      redirect_to: 'https://evil.example',
      next: '//evil.example',
      return_to: 'https://evil.example',
    }
    const { browser, page, user } = await consentPage()
    const query = new URLSearchParams(evil).toString()
    const { fields } = formOf(page, '/decision')
    const answers = [
      await browser.get(`/oauth/authorize/consent?txn=${fields['txn'] ?? ''}&${query}`),
      await browser.get(`/oauth/callback?txn=${fields['txn'] ?? ''}&${query}`),
      await browser.submit(page, '/decision', { ...evil, decision: 'approve' }),
    ]
    const { browser: other, page: signIn } = await startPage()
    answers.push(
      await other.submit(signIn, '/login', { ...evil, identifier: user.email, password: user.password }),
    )
    const again = await consentPage()
    answers.push(await again.browser.submit(again.page, '/logout', evil))
    for (const { location } of answers) expect(location ?? '').not.toContain('evil.example')
  })
})

describe('H.3 row 16: forged form posts', () => {
  const forgeries: [string, Record<string, string>, Record<string, string>][] = [
    ['without csrf', { csrf: '' }, {}],
    ['with a foreign csrf', { csrf: 'A'.repeat(43) }, {}],
    ['with a foreign txn', { txn: 'a'.repeat(43) }, {}],
    ['with Origin: null', {}, { origin: 'null' }],
    ['from another origin', {}, { origin: 'https://evil.example' }],
    ['with Sec-Fetch-Site: cross-site', {}, { 'sec-fetch-site': 'cross-site' }],
    ['with Sec-Fetch-Site: same-site', {}, { 'sec-fetch-site': 'same-site' }],
    ['without the cookie', {}, { cookie: '' }],
  ]

  it.each(forgeries)('a decision %s is a 403 page and makes no code', async (_, fields, headers) => {
    const { browser, page, user } = await consentPage()
    const answer = await browser.submit(page, '/decision', { decision: 'approve', ...fields }, headers)
    expect([answer.status, answer.location]).toEqual([403, null])
    const { rows } = await harness.db.query('select 1 from oauth_grants where account_id = $1', [user.id])
    expect(rows).toEqual([])
    expect((await browser.submit(page, '/decision', { decision: 'approve' })).status).toBe(303)
  })

  it.each(forgeries)('a login %s is a 403 page and asks nobody', async (_, fields, headers) => {
    const user = harness.identity.addUser()
    const { browser, page } = await startPage()
    const asked = harness.identity.asked.length
    const credentials = { identifier: user.email, password: user.password }
    const answer = await browser.submit(page, '/login', { ...credentials, ...fields }, headers)
    expect([answer.status, harness.identity.asked.length]).toEqual([403, asked])
  })

  it('the token of one form does not fit another', async () => {
    const { browser, page } = await consentPage()
    const logout = formOf(page, '/logout').fields
    const answer = await browser.submit(page, '/decision', {
      decision: 'approve',
      csrf: logout['csrf'] ?? '',
    })
    expect(answer.status).toBe(403)
  })
})

describe('H.3 row 17: the session', () => {
  it('has a cookie that is HttpOnly and Lax, and for https also __Host- and Secure', async () => {
    const { page } = await startPage()
    expect(page.headers.get('set-cookie')).toMatch(/^rws_session=\w{43}; Path=\/; HttpOnly; SameSite=Lax$/)
    const secure = await startHarness({ env: { WEBHOOKS_BASE_URL: 'https://hooks.example' } })
    try {
      const tester = new OAuthTester({ base: secure.origin, origin: secure.origin })
      const answer = await tester.browser().get(tester.authorizeUrl((await tester.client()).client_id))
      expect(answer.headers.get('set-cookie')).toMatch(
        /^__Host-rws_session=\w{43}; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
      )
      expect(answer.headers.get('strict-transport-security')).toMatch(/max-age=\d+/)
    } finally {
      await secure.close()
    }
  })

  it('gets a new id at sign-in and the old one is dead', async () => {
    const user = harness.identity.addUser()
    const { browser, page } = await startPage()
    const before = browser.cookies.get('rws_session')
    await oauth.signIn(browser, page, user)
    expect(browser.cookies.get('rws_session')).not.toBe(before)
    const stale = new FormBrowser(harness.origin)
    stale.cookies.set('rws_session', before ?? '')
    const client = await oauth.client()
    expect((await stale.get(oauth.authorizeUrl(client.client_id))).text).toContain('name="password"')
  })

  it('never takes an id that somebody planted', async () => {
    const client = await oauth.client()
    const planted = 'P'.repeat(43)
    const browser = new FormBrowser(harness.origin)
    browser.cookies.set('rws_session', planted)
    await browser.get(oauth.authorizeUrl(client.client_id))
    expect(browser.cookies.get('rws_session')).not.toBe(planted)
  })

  it('ends at sign-out: the old id is dead', async () => {
    const { browser, page } = await consentPage()
    const old = browser.cookies.get('rws_session') ?? ''
    await browser.submit(page, '/logout')
    const stale = new FormBrowser(harness.origin)
    stale.cookies.set('rws_session', old)
    const client = await oauth.client()
    expect((await stale.get(oauth.authorizeUrl(client.client_id))).text).toContain('name="password"')
  })

  it.each([
    ['an hour without use', `last_seen_at = now() - interval '61 minutes'`],
    ['twelve hours', `expires_at = now() - interval '1 second', created_at = now() - interval '12 hours'`],
  ])('ends after %s', async (_, change) => {
    const { browser, user } = await consentPage()
    await harness.db.query(`update login_sessions set ${change} where account_id = $1`, [user.id])
    const client = await oauth.client()
    expect((await browser.get(oauth.authorizeUrl(client.client_id))).text).toContain('name="password"')
  })
})

describe('H.3 row 18: headers of pages', () => {
  it('refuse framing, load nothing, name no form-action and keep the origin on our own posts', async () => {
    const { headers, text } = (await startPage()).page
    const policy = headers.get('content-security-policy') ?? ''
    const nonce = /style-src 'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
    expect(policy).toBe(
      `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; frame-ancestors 'none'`,
    )
    expect(text).toContain(`<style nonce="${nonce}">`)
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      pragma: 'no-cache',
      'referrer-policy': 'same-origin',
    })
    expect(headers.has('cross-origin-opener-policy')).toBe(false)
    expect(headers.has('strict-transport-security')).toBe(false)
  })

  it('are the same on error pages', async () => {
    const { headers } = await oauth.browser().get(oauth.authorizeUrl('svcl_unknown'))
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })
})

describe('H.3 row 19: a transaction', () => {
  it('works once: the second decision is a 400 page and no second code', async () => {
    const { browser, page, user } = await consentPage()
    expect((await browser.submit(page, '/decision', { decision: 'approve' })).status).toBe(303)
    const second = await browser.submit(page, '/decision', { decision: 'approve' })
    expect([second.status, second.location]).toEqual([400, null])
    const { rows } = await harness.db.query('select 1 from oauth_grants where account_id = $1', [user.id])
    expect(rows).toHaveLength(1)
  })

  it('gives one code to ten simultaneous decisions', async () => {
    const { browser, page, user } = await consentPage()
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => browser.submit(page, '/decision', { decision: 'approve' })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([303, ...Array.from({ length: 9 }, () => 400)])
    const { rows } = await harness.db.query(
      'select 1 from oauth_codes k join oauth_grants g on g.id = k.grant_id where g.account_id = $1',
      [user.id],
    )
    expect(rows).toHaveLength(1)
  })

  it('cannot be denied and approved at once', async () => {
    const { browser, page } = await consentPage()
    const answers = await Promise.all(
      ['approve', 'deny'].map((decision) => browser.submit(page, '/decision', { decision })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400])
  })

  it('gives no code once its client is disabled', async () => {
    const { browser, page } = await consentPage()
    const { txn = '' } = formOf(page, '/decision').fields
    await harness.db.query(
      `update oauth_clients set disabled_at = now()
        where client_id = (select client_id from oauth_authorizations where txn_hash = $1)`,
      [createHash('sha256').update(txn).digest()],
    )
    const answer = await browser.submit(page, '/decision', { decision: 'approve' })
    expect([answer.status, answer.location]).toEqual([400, null])
  })

  it('is unusable in another browser session', async () => {
    const { page } = await consentPage()
    const { browser: other } = await consentPage()
    const { txn = '' } = formOf(page, '/decision').fields
    expect((await other.get(`/oauth/authorize/consent?txn=${txn}`)).status).toBe(400)
    expect((await other.submit(page, '/decision', { decision: 'approve' })).status).toBe(403)
  })

  it('ends after ten minutes', async () => {
    const { browser, page } = await consentPage()
    const { txn = '' } = formOf(page, '/decision').fields
    await harness.db.query(
      `update oauth_authorizations set expires_at = now() - interval '1 second', created_at = now() - interval '10 minutes'
        where txn_hash = $1`,
      [createHash('sha256').update(txn).digest()],
    )
    expect((await browser.submit(page, '/decision', { decision: 'approve' })).status).toBe(400)
    expect((await browser.get(`/oauth/authorize/consent?txn=${txn}`)).status).toBe(400)
  })
})

describe('H.3 row 20: refused sign-ins', () => {
  it('look the same for a wrong password, an unknown, an unconfirmed and a banned user', async () => {
    const good = harness.identity.addUser()
    const banned = harness.identity.addUser({ banned: true })
    const unconfirmed = harness.identity.addUser({ confirmed: false })
    const attempts = [
      { identifier: good.email, password: 'wrong' },
      { identifier: 'nobody@example.com', password: 'wrong' },
      { identifier: banned.email, password: banned.password },
      { identifier: unconfirmed.email, password: unconfirmed.password },
    ]
    const seen = []
    for (const attempt of attempts) {
      const { browser, page } = await startPage()
      const { status, text } = await browser.submit(page, '/login', attempt)
      expect(text).toContain('role="alert"')
      expect(text).not.toContain(attempt.password)
      seen.push([status, /role="alert">([^<]*)/.exec(text)?.[1]])
    }
    expect(new Set(seen.map((entry) => JSON.stringify(entry))).size).toBe(1)
    expect(seen[0]?.[0]).toBe(400)
  })

  it('leave the transaction usable', async () => {
    const user = harness.identity.addUser()
    const { browser, page } = await startPage()
    const refused = await browser.submit(page, '/login', { identifier: user.email, password: 'wrong' })
    expect(refused.text).toContain(`value="${user.email.replace('@', '@')}"`)
    expect((await oauth.signIn(browser, refused, user)).text).toContain('Approve')
  })

  it.each([
    ['busy', 429, 429],
    ['broken', 500, 503],
  ])(
    'when the identity server is %s: a page, no redirect, and the transaction stays usable',
    async (_, upstream, status) => {
      const user = harness.identity.addUser()
      const { browser, page } = await startPage()
      harness.identity.failWith({ status: upstream })
      const answer = await browser.submit(page, '/login', { identifier: user.email, password: user.password })
      harness.identity.failWith(null)
      expect([answer.status, answer.location]).toEqual([status, null])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await oauth.signIn(browser, page, user)).text).toContain('Approve')
    },
  )

  it('when the identity server does not answer within five seconds: 503', async () => {
    const { browser, page } = await startPage()
    harness.identity.failWith({ status: 500, hang: true })
    const started = performance.now()
    const { status } = await browser.submit(page, '/login', { identifier: 'a@example.com', password: 'x' })
    harness.identity.failWith(null)
    expect(status).toBe(503)
    expect(performance.now() - started).toBeLessThan(7000)
  })
})

describe('what the identity server is asked', () => {
  it('an e-mail address or a phone number, with the address of the browser', async () => {
    const byPhone = harness.identity.addUser({ phone: '+4915112345678' })
    const { browser, page } = await startPage()
    const answer = await browser.submit(page, '/login', {
      identifier: ' +4915112345678 ',
      password: byPhone.password,
      captcha_token: 'solved',
    })
    expect(answer.status).toBe(303)
    const asked = harness.identity.asked.at(-1)
    expect(asked).toMatchObject({
      method: 'POST',
      path: '/token?grant_type=password',
      body: { phone: '+4915112345678', password: byPhone.password, captcha_token: 'solved' },
    })
    expect(asked?.headers['x-client-address']).toBe('127.0.0.1')
  })

  it('never a logout: it would end every session of the user', async () => {
    const { browser, page } = await consentPage()
    await browser.submit(page, '/logout')
    expect(harness.identity.asked.filter(({ path }) => path.includes('logout'))).toEqual([])
  })
})

describe('H.3 row 21: user JWTs that are refused', () => {
  const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString()

  const attempt = async (token: string) =>
    oauth.json('/account/tokens', { headers: { authorization: `Bearer ${token}` } })

  const withSecret = (header: object, claims: object, secret: string) => {
    const input = `${base64(header)}.${base64(claims)}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }

  it('alg none, foreign keys, key confusion, wrong claims', async () => {
    const user = harness.identity.addUser()
    const claims = harness.identity.claimsOf(user)
    const now = Math.floor(Date.now() / 1000)
    const header = { alg: 'HS256', typ: 'JWT' }
    const rs256 = `${base64({ alg: 'RS256' })}.${base64(claims)}`
    const signature = sign(
      'sha256',
      Buffer.from(rs256),
      createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    )
    const tokens = {
      good: withSecret(header, claims, JWT_SECRET),
      none: `${base64({ alg: 'none' })}.${base64(claims)}.`,
      unsigned: `${base64({ alg: 'None' })}.${base64(claims)}.x`,
      foreignSecret: withSecret(header, claims, 'another secret that is longer than 32 bytes'),
      publicKeyAsSecret: withSecret(header, claims, pem),
      rs256WithoutKey: `${rs256}.${signature.toString('base64url')}`,
      expired: withSecret(header, { ...claims, exp: now - 31 }, JWT_SECRET),
      withoutExpiry: withSecret(header, { ...claims, exp: undefined }, JWT_SECRET),
      wrongAudience: withSecret(header, { ...claims, aud: 'other' }, JWT_SECRET),
      serviceRole: withSecret(header, { ...claims, role: 'service_role' }, JWT_SECRET),
      anonRole: withSecret(header, { ...claims, role: 'anon' }, JWT_SECRET),
      noRole: withSecret(header, { ...claims, role: undefined }, JWT_SECRET),
      anonymous: withSecret(header, { ...claims, is_anonymous: true }, JWT_SECRET),
      subject: withSecret(header, { ...claims, sub: 'not-a-uuid' }, JWT_SECRET),
    }
    const answers: Record<string, number> = {}
    for (const [name, token] of Object.entries(tokens)) answers[name] = (await attempt(token)).status
    expect(answers).toEqual({
      ...Object.fromEntries(Object.keys(tokens).map((name) => [name, 401])),
      good: 200,
    })
  })
})

describe('H.3 row 22: answers to posts', () => {
  it('are 303, and the password appears in no URL, redirect or log line', async () => {
    const user = harness.identity.addUser({ password: 'unmistakable-passphrase' })
    const { browser, page } = await startPage()
    const answer = await browser.submit(page, '/login', { identifier: user.email, password: user.password })
    expect(answer.status).toBe(303)
    const consent = await browser.follow(answer)
    const decision = await browser.submit(consent, '/decision', { decision: 'approve' })
    expect(decision.status).toBe(303)
    const wrong = await startPage()
    await wrong.browser.submit(wrong.page, '/login', {
      identifier: user.email,
      password: `${user.password}x`,
    })
    const traces = [answer.location, decision.location, ...harness.logLines].join('\n')
    expect(traces).not.toContain('unmistakable-passphrase')
  })
})
