import { createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { formOf } from '@signet/testkit'
import { startHarness } from './support/harness.js'
import { OAuthTester } from './support/oauth.js'
import { aDelivery, anEndpoint, aVisitor, sent } from './support/portal.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth({ env: { WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true' } })
const visitor = () => aVisitor({ harness, oauth })
const GETS = ['', '/applications', '/tokens', '/events', '/signatures', '/endpoints/new']

describe('without a session', () => {
  it.each(GETS)('/portal%s leads to the sign-in page and back', async (below) => {
    const browser = oauth.browser()
    const guarded = await browser.get(`/portal${below}?a=1`)
    const start = await browser.follow(guarded)
    const back = await browser.get(
      harness.identity.answerTo(start.location ?? '', harness.identity.addUser()),
    )
    expect(back.location).toBe(`/portal${below}?a=1`)
  })

  it('a form changes nothing and leads to the sign-in page', async () => {
    const visit = await visitor()
    const { id } = await anEndpoint(visit)
    const question = await visit.open(`/endpoints/${id}/delete`)
    const answer = await visit.browser.submit(question, '/delete', {}, { cookie: '' })
    const back = new URL(answer.location ?? '', visit.browser.origin).searchParams.get('return_to') ?? ''
    const page = await visit.browser.get(back)
    expect([page.status, new URL(page.url).pathname]).toEqual([200, `/portal/endpoints/${id}`])
    expect(page.text).toContain('You were signed out in the meantime, so nothing was changed.')
    expect((await visit.open(`/endpoints/${id}`)).status).toBe(200)
  })
})

describe('forged forms', () => {
  it.each([
    ['without a token', { csrf: '' }, {}],
    ['with a token of another form', {}, {}],
    ['from another origin', {}, { origin: 'https://evil.example' }],
    ['from another site', {}, { 'sec-fetch-site': 'cross-site' }],
    ['with Origin: null', {}, { origin: 'null' }],
  ])('%s are a 403 page and change nothing', async (name, fields, headers) => {
    const visit = await visitor()
    const { id } = await anEndpoint(visit)
    const question = await visit.open(`/endpoints/${id}/delete`)
    const other = formOf(await visit.open(`/endpoints/${id}`), '/test').fields
    const forged = name === 'with a token of another form' ? other : fields
    const answer = await visit.browser.submit(question, '/delete', forged, headers)
    expect(answer.status).toBe(403)
    expect((await visit.open(`/endpoints/${id}`)).status).toBe(200)
  })

  it('the token of one endpoint does not fit another, nor that of one person another', async () => {
    const [mine, theirs] = [await visitor(), await visitor()]
    const [first, second] = [await anEndpoint(mine), await anEndpoint(mine)]
    const { fields } = formOf(await mine.open(`/endpoints/${first.id}/delete`), '/delete')
    expect((await mine.browser.post(`/portal/endpoints/${second.id}/delete`, fields)).status).toBe(403)
    expect((await theirs.browser.post(`/portal/endpoints/${first.id}/delete`, fields)).status).toBe(403)
  })
})

describe('ids of another account', () => {
  it('are nothing on every page', async () => {
    const [mine, theirs] = [await visitor(), await visitor()]
    const { id } = await anEndpoint(mine)
    const delivery = await aDelivery(harness, id)
    for (const below of [
      '',
      '/delete',
      '/deliveries',
      `/deliveries/${delivery.id}`,
      '/recover',
      '/recover/1',
    ]) {
      const page = await theirs.open(`/endpoints/${id}${below}`)
      expect([below, page.status]).toEqual([below, 404])
      expect(page.text).not.toContain('127.0.0.1:9443')
    }
    const own = await anEndpoint(theirs)
    expect((await theirs.open(`/endpoints/${own.id}/deliveries/${delivery.id}`)).status).toBe(404)
  })

  it('are nothing in every form, even with a token for its address', async () => {
    const [mine, theirs] = [await visitor(), await visitor()]
    const { id } = await anEndpoint(mine)
    const delivery = await aDelivery(harness, id)
    const { client } = await oauth.connect(mine.user)
    await mine.browser.submit(await mine.open('/tokens'), '/tokens', { name: 'mine', days: '30' })
    const { rows } = await harness.db.query<{ id: string }>(
      'select id from personal_tokens where account_id = $1',
      [mine.user.id],
    )
    const { rows: sessions } = await harness.db.query<{ key: Buffer }>(
      'select csrf_key as key from login_sessions where account_id = $1',
      [theirs.user.id],
    )
    const fields = { url: 'https://127.0.0.1/', events: 'webhook.ping', hours: '24', what: 'all' }
    const forms = [
      '',
      '/enable',
      '/test',
      '/secret/rotate',
      '/secret/activate',
      '/secret/cancel',
      '/delete',
      '/recover',
    ]
      .map((below) => `/endpoints/${id}${below}`)
      .concat(`/endpoints/${id}/deliveries/${delivery.id}/replay`, `/endpoints/${id}/recover/1/stop`)
      .concat(`/applications/${client.client_id}/revoke`, `/tokens/${rows[0]?.id ?? ''}/revoke`)
    for (const below of forms) {
      const csrf = createHmac('sha256', sessions[0]?.key ?? '')
        .update(`./portal${below}`)
        .digest('base64url')
      const answer = await theirs.browser.post(`/portal${below}`, { ...fields, csrf })
      expect([below, answer.status, (await theirs.browser.follow(answer)).status]).toEqual([below, 303, 404])
    }
    expect((await mine.open(`/endpoints/${id}`)).status).toBe(200)
  })
})

describe('text of others', () => {
  const EVIL = '<img src=x onerror=alert(1)>"\'</pre><script>alert(1)</script>'

  it('is shown as text: names of applications and tokens, addresses, answers, payloads, queries', async () => {
    const visit = await visitor()
    await oauth.connect(visit.user, { client_name: EVIL })
    await visit.browser.submit(await visit.open('/tokens'), '/tokens', {
      name: EVIL.slice(0, 60),
      days: '30',
    })
    const { id } = await anEndpoint(visit, `https://127.0.0.1/${encodeURI(EVIL)}?"><script>`)
    const delivery = await aDelivery(harness, id, {
      status: 2,
      answer: EVIL,
      body: JSON.stringify({ a: EVIL }),
    })
    const pages = await Promise.all(
      [
        '/applications',
        '/tokens',
        '',
        `/endpoints/${id}`,
        `/endpoints/${id}/deliveries`,
        `/endpoints/${id}/deliveries/${delivery.id}`,
        `/endpoints/${id}/deliveries?status=%3Cscript%3E`,
        `?done=${encodeURIComponent(EVIL)}`,
        '?done=__proto__',
      ].map((below) => visit.open(below)),
    )
    for (const { text } of pages) {
      expect(text).not.toContain('<img')
      expect(text).not.toContain('<script')
    }
  })

  it('is shown as text in the answer of the signature helper, which repeats no secret', async () => {
    const visit = await visitor()
    const fields = { secret: 'whsec_secret', headers: EVIL, body: EVIL }
    const { text } = await sent(visit.browser, await visit.open('/signatures'), '/signatures', fields)
    expect([text.includes('<img'), text.includes('<script'), text.includes('whsec_secret')]).toEqual([
      false,
      false,
      false,
    ])
  })
})

it('every page forbids framing, scripts and caching', async () => {
  const visit = await visitor()
  const { id } = await anEndpoint(visit)
  for (const below of [
    ...GETS,
    `/endpoints/${id}`,
    `/endpoints/${id}/deliveries`,
    `/endpoints/${id}/recover`,
  ]) {
    const { status, headers } = await visit.open(below)
    const policy = headers.get('content-security-policy') ?? ''
    expect([below, status, headers.get('x-frame-options'), headers.get('cache-control')]).toEqual([
      below,
      200,
      'DENY',
      'no-store',
    ])
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'nonce-[^']+'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    )
  }
})

it('counts against the limits of the API, and says how long to wait', async () => {
  const limited = await startHarness({
    env: {
      WEBHOOKS_ALLOW_PRIVATE_TARGETS: 'true',
      WEBHOOKS_RATE_LIMITS_ENABLED: 'true',
      WEBHOOKS_RATE_LIMIT_V1_WRITES: '2',
      WEBHOOKS_RATE_LIMIT_TEST_EVENTS: '1',
      WEBHOOKS_RATE_LIMIT_AUTHORIZE: '0',
      WEBHOOKS_RATE_LIMIT_LOGIN: '0',
    },
  })
  try {
    const visit = await aVisitor({ harness: limited, oauth: new OAuthTester(limited) })
    const { id, page } = await anEndpoint(visit)
    expect((await visit.browser.submit(page, '/test')).status).toBe(303)
    const refused = await visit.browser.submit(await visit.open(`/endpoints/${id}`), '/test')
    expect([refused.status, refused.headers.get('content-type')]).toEqual([429, 'text/html; charset=utf-8'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const another = await aVisitor({ harness: limited, oauth: new OAuthTester(limited) })
    const made = await anEndpoint(another)
    await limited.ctx.limits.testEvents.consume(made.id)
    const again = await sent(another.browser, made.page, '/test')
    expect([again.status, again.text.includes('role="alert"')]).toEqual([429, true])
    expect(Number(again.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await visit.open(`/endpoints/${id}`)).status).toBe(200)
  } finally {
    await limited.close()
  }
})
