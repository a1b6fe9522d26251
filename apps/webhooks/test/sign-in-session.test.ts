import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { formOf } from '@signet/testkit'
import { OAuthTester } from './support/oauth.js'
import { startHarness } from './support/harness.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

async function consentPage() {
  const user = harness.identity.addUser()
  return { user, ...(await oauth.consentPage(user)) }
}

describe('no open redirect', () => {
  it('through any parameter of consent, logout, decision, sign-in or callback', async () => {
    const evil = {
      redirect_uri: 'https://evil.example',
      redirect_to: 'https://evil.example',
      next: '//evil.example',
      return_to: 'https://evil.example',
    }
    const { browser, page } = await consentPage()
    const query = new URLSearchParams(evil).toString()
    const { fields } = formOf(page, '/decision')
    const answers = [
      await browser.get(`/oauth/authorize/consent?txn=${fields['txn'] ?? ''}&${query}`),
      await browser.get(`/sign-in?${query}`),
      await browser.get(`/sign-in/callback?state=x&${query}`),
      await browser.submit(page, '/decision', { ...evil, decision: 'approve' }),
    ]
    const again = await consentPage()
    answers.push(await again.browser.submit(again.page, '/logout', evil))
    for (const { location } of answers) expect(location ?? '').not.toContain('evil.example')
  })
})

describe('forged form posts', () => {
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

  it.each(['/oauth/authorize/logout', '/oauth/authorize/decision', '/sign-out'])(
    'no form is taken without its token: %s',
    async (form) => {
      const { browser, page } = await consentPage()
      const { txn = '' } = formOf(page, '/decision').fields
      const answer = await browser.post(form, { txn, decision: 'approve' })
      expect([answer.status, answer.location]).toEqual([403, null])
    },
  )

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

describe('somebody who was signed out while the consent page was open', () => {
  const approved = { decision: 'approve' }

  it('signs in again, and the same request goes on', async () => {
    const { browser, page, user } = await consentPage()
    await browser.submit(await browser.get('/'), '/sign-out')
    const answer = await browser.submit(page, '/decision', approved)
    expect(answer.status).toBe(303)
    const again = await browser.follow(answer)
    expect([again.status, again.text.includes('Sign in to continue')]).toEqual([200, true])
    const { rows } = await harness.db.query('select 1 from oauth_grants where account_id = $1', [user.id])
    expect(rows).toEqual([])
    const [, href = ''] = /class="button" href="([^"]+)"/.exec(again.text) ?? []
    const consent = await oauth.signIn(browser, await browser.get(href), user)
    expect((await browser.submit(consent, '/decision', approved)).location).toContain('code=svc_')
  })

  it('is told so when the session is over, and to start again', async () => {
    const { browser, page, user } = await consentPage()
    await harness.db.query(`delete from login_sessions where account_id = $1`, [user.id])
    for (const [action, fields] of [
      ['/decision', approved],
      ['/logout', {}],
    ] as const) {
      const answer = await browser.submit(page, action, fields)
      expect([answer.status, answer.text.includes('signed out in the meantime')]).toEqual([403, true])
      expect(answer.text).not.toContain('refused')
    }
  })

  it('is told when the form belongs to the sign-in before', async () => {
    const { browser, page, user } = await consentPage()
    await browser.submit(await browser.get('/'), '/sign-out')
    await oauth.signIn(browser, await browser.get('/sign-in'), user)
    const answer = await browser.submit(page, '/decision', approved)
    expect([answer.status, answer.text.includes('another sign-in')]).toEqual([403, true])
  })
})

it.each(['/oauth/authorize/decision', '/oauth/authorize/logout', '/sign-out'])(
  'the address of the form %s, opened again, leads to the start page',
  async (form) => {
    const browser = oauth.browser()
    const { status, text } = await browser.follow(await browser.get(form))
    expect([status, text.includes('<h1')]).toEqual([200, true])
  },
)

describe('the session', () => {
  it('has a cookie that is HttpOnly and Lax, and for https also __Host- and Secure', async () => {
    const { redirect } = await oauth.begun()
    expect(redirect.headers.get('set-cookie')).toMatch(
      /^signet_session=\w{43}; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    const secure = await startHarness({ env: { WEBHOOKS_BASE_URL: 'https://hooks.example' } })
    try {
      const tester = new OAuthTester({ base: secure.origin, origin: secure.origin })
      const answer = await tester.browser().get(tester.authorizeUrl((await tester.client()).client_id))
      expect(answer.headers.get('set-cookie')).toMatch(
        /^__Host-signet_session=\w{43}; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
      )
      const page = await tester.browser().get(tester.authorizeUrl('svcl_unknown'))
      expect(page.headers.get('strict-transport-security')).toBe('max-age=31536000')
    } finally {
      await secure.close()
    }
  })

  it('gets a new id at sign-in and the old one is dead', async () => {
    const user = harness.identity.addUser()
    const { browser, redirect } = await oauth.begun()
    const before = browser.cookies.get('signet_session')
    await oauth.signIn(browser, redirect, user)
    expect(browser.cookies.get('signet_session')).not.toBe(before)
    const stale = oauth.browser()
    stale.cookies.set('signet_session', before ?? '')
    const client = await oauth.client()
    expect((await stale.get(oauth.authorizeUrl(client.client_id))).location).toContain('/ui?')
  })

  it('never takes an id that somebody planted', async () => {
    const client = await oauth.client()
    const planted = 'P'.repeat(43)
    const browser = oauth.browser()
    browser.cookies.set('signet_session', planted)
    await browser.get(oauth.authorizeUrl(client.client_id))
    expect(browser.cookies.get('signet_session')).not.toBe(planted)
  })

  it('ends at sign-out: the old id is dead', async () => {
    const { browser, page } = await consentPage()
    const old = browser.cookies.get('signet_session') ?? ''
    await browser.submit(page, '/logout')
    const stale = oauth.browser()
    stale.cookies.set('signet_session', old)
    const client = await oauth.client()
    expect((await stale.get(oauth.authorizeUrl(client.client_id))).location).toContain('/ui?')
  })

  it.each([
    ['an hour without use', `last_seen_at = now() - interval '61 minutes'`],
    ['twelve hours', `expires_at = now() - interval '1 second', created_at = now() - interval '12 hours'`],
  ])('ends after %s', async (_, change) => {
    const { browser, user } = await consentPage()
    await harness.db.query(`update login_sessions set ${change} where account_id = $1`, [user.id])
    const client = await oauth.client()
    expect((await browser.get(oauth.authorizeUrl(client.client_id))).location).toContain('/ui?')
  })
})

describe('a transaction', () => {
  it('works once: the second decision leads to the same place and makes no second code', async () => {
    const { browser, page, user } = await consentPage()
    const first = await browser.submit(page, '/decision', { decision: 'approve' })
    const second = await browser.submit(page, '/decision', { decision: 'approve' })
    expect([second.status, second.location]).toEqual([303, first.location])
    const { rows } = await harness.db.query('select 1 from oauth_grants where account_id = $1', [user.id])
    expect(rows).toHaveLength(1)
  })

  it('gives one code to ten simultaneous decisions', async () => {
    const { browser, page, user } = await consentPage()
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => browser.submit(page, '/decision', { decision: 'approve' })),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 303))
    expect(new Set(answers.map(({ location }) => location)).size).toBe(1)
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
