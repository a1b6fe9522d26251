import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import { anEmail, aPhone, aUser, get, mailTo, PASSWORD, post } from '../support/api.js'
import { providerEnv, startFakeProvider, type FakeProvider } from '../support/fake-provider.js'
import { SITE, startServer, type TestServer } from '../support/server.js'
import { startSmsGateway, type SmsGateway } from '../support/sms-gateway.js'
import {
  aBrowser,
  APPLICATION,
  aUserWithTotp,
  fragmentOf,
  noticeOf,
  pkce,
  settle,
  signIn,
  startUi,
  uiPath,
} from './support.js'

let server: TestServer
let gateway: SmsGateway
let provider: FakeProvider
beforeAll(async () => {
  gateway = await startSmsGateway()
  provider = await startFakeProvider()
  server = await startUi(
    {
      ...gateway.env,
      AUTH_MFA_PHONE_ENROLL_ENABLED: 'true',
      AUTH_MFA_PHONE_VERIFY_ENABLED: 'true',
      ...providerEnv('gitlab', provider.url),
    },
    { smsUrls: gateway.urls },
  )
})
afterAll(async () => {
  await server.close()
  gateway.close()
  provider.close()
})

describe('the sign-in page', () => {
  it('is off unless it is switched on', async () => {
    const plain = await startServer()
    const answer = await get(plain, '/ui')
    expect([answer.status, answer.body['error_code']]).toEqual([404, 'not_found'])
    await plain.close()
  })

  it('signs in with a password and says as whom', async () => {
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
    const exchange = (codeVerifier: string) =>
      post(server, '/token?grant_type=pkce', { auth_code: code, code_verifier: codeVerifier })
    expect((await exchange('x'.repeat(43))).status).toBe(400)
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(verifier)))
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
    expect(answer.status).toBe(404)
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

  it('asks somebody who is signed in before an application gets a session, and then keeps none', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    await signIn(browser, user)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION }))
    expect(page.text).toContain('other.example.com')
    const done = await browser.submit(page, '/ui/continue')
    expect(fragmentOf(done)).toHaveProperty('access_token')
    expect((await browser.get('/ui')).text).not.toContain('You are signed in')
  })

  it.each([
    ['banned', `update users set banned_until = 'infinity' where id = $1`],
    ['deleted', 'delete from users where id = $1'],
    ['signed out elsewhere', 'update sessions set revoked_at = now() where user_id = $1'],
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
    const sent = await browser.submit(page, '/ui/sign-up', { identifier: email, password: PASSWORD })
    expect(sent.text).toContain('Check your mail')
    const { link = '' } = await mailTo(server, email)
    const back = await browser.get(link)
    expect(back.location).toContain(`${server.url}/ui/return?`)
    const done = await settle(browser, back)
    expect(done.location).toContain(`${APPLICATION}#access_token=`)
  })

  it('are made with the code of the mail, typed in', async () => {
    const email = anEmail()
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({}, '/sign-up'))
    const sent = await browser.submit(page, '/ui/sign-up', { identifier: email, password: PASSWORD })
    const { code = '' } = await mailTo(server, email)
    const wrong = await browser.submit(sent, '/ui/code', { code: code === '000000' ? '111111' : '000000' })
    expect(noticeOf(wrong)).toContain('not right')
    const done = await settle(browser, await browser.submit(wrong, '/ui/code', { code }))
    expect(done.text).toContain(email)
  })

  it('are confirmed but not signed in by a link in another browser', async () => {
    const email = anEmail()
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({}, '/sign-up'))
    await browser.submit(page, '/ui/sign-up', { identifier: email, password: PASSWORD })
    const { link = '' } = await mailTo(server, email)
    const other = aBrowser(server)
    const back = await settle(other, await other.get(link))
    expect(noticeOf(back)).toContain('another browser')
    expect((await settle(other, await signIn(other, { email, password: PASSWORD }))).text).toContain(email)
  })

  it('say what is wrong with the password', async () => {
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({}, '/sign-up'))
    const seen = await browser.submit(page, '/ui/sign-up', { identifier: anEmail(), password: 'abc' })
    expect([seen.status, noticeOf(seen)]).toEqual([422, expect.stringContaining('at least 6 characters')])
  })

  it('have no page while they are switched off', async () => {
    const closed = await startUi({ AUTH_DISABLE_SIGNUP: 'true' })
    expect((await aBrowser(closed).get('/ui')).text).not.toContain('Create an account')
    expect((await aBrowser(closed).get('/ui/sign-up')).status).toBe(404)
    await closed.close()
  })
})

describe('links and codes', () => {
  it('sign in by a mailed link, in the browser that asked for it only', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION }))
    const before = (await mailTo(server, user.email)).mail
    await browser.submit(page, '/ui/mail', { identifier: user.email })
    const { link = '' } = await mailTo(server, user.email, before)
    const other = aBrowser(server)
    const followed = await other.get(link)
    expect(noticeOf(await settle(other, followed))).toContain('another browser')
    // What the other browser could not use still belongs to this one.
    const done = await settle(browser, await browser.get(followed.location ?? ''))
    expect(done.location).toContain(`${APPLICATION}#access_token=`)
  })

  it('do not serve another visit than the one they were asked for', async () => {
    const user = await aUser(server)
    const browser = aBrowser(server)
    const before = (await mailTo(server, user.email)).mail
    await browser.submit(await browser.get(uiPath({ redirect_to: APPLICATION })), '/ui/mail', {
      identifier: user.email,
    })
    const { link = '' } = await mailTo(server, user.email, before)
    const back = new URL((await browser.get(link)).location ?? '')
    back.searchParams.set('redirect_to', 'https://other.example.com/elsewhere')
    const seen = await browser.get(back.href)
    expect([seen.status, seen.location]).toEqual([400, null])
  })

  it('look the same for addresses that nobody has, and send nothing there', async () => {
    const user = await aUser(server)
    const nobody = anEmail()
    for (const [path, action, field] of [
      ['/ui', '/ui/mail', 'identifier'],
      ['/ui/forgot', '/ui/forgot', 'email'],
    ] as const) {
      const seen = await Promise.all(
        [user.email, nobody].map(async (address) => {
          const browser = aBrowser(server)
          const { status, text } = await browser.submit(await browser.get(path), action, { [field]: address })
          return { status, text: masked(text, address) }
        }),
      )
      expect(seen[0]).toEqual(seen[1])
    }
    expect(server.inbox.messages({ to: nobody })).toEqual([])
  })

  it('ask twice within a minute without telling who has an account', async () => {
    const user = await aUser(server)
    const texts: string[] = []
    for (let i = 0; i < 2; i += 1) {
      const browser = aBrowser(server)
      const page = await browser.get('/ui/forgot')
      texts.push(masked((await browser.submit(page, '/ui/forgot', { email: user.email })).text, user.email))
    }
    expect(texts[0]).toBe(texts[1])
  })

  it('let somebody choose a new password, and go on to the application', async () => {
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    const browser = aBrowser(server)
    const page = await browser.get(uiPath({ redirect_to: APPLICATION }, '/forgot'))
    await browser.submit(page, '/ui/forgot', { email: user.email })
    const { link = '' } = await mailTo(server, user.email, before)
    const form = await settle(browser, await browser.get(link))
    expect(form.text).toContain('Choose a new password')
    const same = await browser.submit(form, '/ui/password', { password: PASSWORD })
    expect(noticeOf(same)).toContain('different from the old')
    const done = await browser.submit(same, '/ui/password', { password: 'another horse battery' })
    expect(done.location).toContain(`${APPLICATION}#access_token=`)
    const again = await signIn(aBrowser(server), user)
    expect([again.status, noticeOf(again)]).toEqual([400, 'The address or the password is not right.'])
  })

  it('sign in by phone, only numbers that somebody has', async () => {
    const phone = aPhone()
    const registering = aBrowser(server)
    const form = await registering.get('/ui/sign-up')
    const sent = await registering.submit(form, '/ui/sign-up', {
      identifier: `+${phone}`,
      password: PASSWORD,
    })
    await registering.submit(sent, '/ui/code', { code: gateway.codeFor(phone) })
    server.clock.advance(120_000)

    const browser = aBrowser(server)
    const asked = await browser.submit(await browser.get('/ui/phone'), '/ui/phone', { phone: `+${phone}` })
    const done = await settle(
      browser,
      await browser.submit(asked, '/ui/code', { code: gateway.codeFor(phone) }),
    )
    expect(done.text).toContain(phone)

    const count = gateway.messages.length
    const nobody = aBrowser(server)
    const unknown = await nobody.submit(await nobody.get('/ui/phone'), '/ui/phone', { phone: `+${aPhone()}` })
    expect(unknown.text).toContain('Enter the code')
    expect(gateway.messages).toHaveLength(count)
  })
})

describe('providers', () => {
  const profile = (email: string) => {
    provider.answer('POST /oauth/token', { body: { access_token: 'provider-token', token_type: 'bearer' } })
    provider.answer('GET /api/v4/user', {
      body: { id: email, email, name: 'Ada', confirmed_at: '2020-01-01T00:00:00Z' },
    })
    provider.answer('GET /api/v4/user/emails', { body: [] })
  }
  const goOut = async (browser: ReturnType<typeof aBrowser>) => {
    const page = await browser.get(uiPath({ redirect_to: APPLICATION }))
    const out = await browser.submit(page, '/ui/provider', { provider: 'gitlab' })
    return new URL(out.location ?? '').searchParams.get('state') ?? ''
  }

  it('sign in, and the token of the provider goes to nobody', async () => {
    profile(anEmail())
    const browser = aBrowser(server)
    const state = await goOut(browser)
    const done = await settle(browser, await browser.get(`/callback?state=${state}&code=the-code`))
    expect(done.location).toContain(`${APPLICATION}#access_token=`)
    expect(done.location).not.toContain('provider-token')
  })

  it('do not sign another browser in', async () => {
    profile(anEmail())
    const state = await goOut(aBrowser(server))
    const victim = aBrowser(server)
    const seen = await settle(victim, await victim.get(`/callback?state=${state}&code=the-code`))
    expect([seen.status, noticeOf(seen)]).toEqual([400, expect.stringContaining('another browser')])
    expect((await victim.get('/ui')).text).not.toContain('You are signed in')
  })

  it('that refuse lead back to the page, in our words', async () => {
    const browser = aBrowser(server)
    const state = await goOut(browser)
    const back = await browser.get(
      `/callback?state=${state}&error=access_denied&error_description=Call+0800+EVIL`,
    )
    const seen = await settle(browser, back)
    expect(noticeOf(seen)).toBe('This did not work. Please try again.')
    expect(seen.text).not.toContain('EVIL')
  })

  it('that could only end in an error are not offered: settings are missing, or callers must say more', async () => {
    const own = await startUi({
      ...providerEnv('figma', provider.url),
      ...providerEnv('workos', provider.url),
      AUTH_EXTERNAL_SLACK_ENABLED: 'true',
      AUTH_EXTERNAL_KEYCLOAK_ENABLED: 'true',
    })
    try {
      const { text } = await aBrowser(own).get('/ui')
      expect(text.match(/Continue with [^<\n]*/g)).toEqual(['Continue with Figma'])
    } finally {
      await own.close()
    }
  })

  it('that are switched off are refused', async () => {
    const browser = aBrowser(server)
    const seen = await browser.submit(await browser.get('/ui'), '/ui/provider', { provider: 'github' })
    expect([seen.status, seen.location]).toEqual([400, null])
  })
})

describe('second factors', () => {
  it('come before any application gets a session', async () => {
    const user = await aUserWithTotp(server)
    const browser = aBrowser(server)
    const page = await settle(browser, await signIn(browser, user, { redirect_to: APPLICATION }))
    expect(page.text).toContain('my app')
    const wrong = await browser.submit(page, '/ui/factor', { code: '000000' })
    expect(noticeOf(wrong)).toContain('not right')
    const done = await browser.submit(wrong, '/ui/factor', { code: user.code() })
    expect(decodeJwt(fragmentOf(done)['access_token'] ?? '')).toMatchObject({ aal: 'aal2' })
  })

  it('cannot be walked around', async () => {
    const user = await aUserWithTotp(server)
    const browser = aBrowser(server)
    const page = await settle(browser, await signIn(browser, user))
    for (const path of ['/ui', '/ui/password', uiPath({ redirect_to: APPLICATION })]) {
      const seen = await settle(browser, await browser.get(path))
      expect(seen.text).toContain('Confirm it is you')
    }
    const { rows } = await server.context.db.query<{ count: string }>(
      `select count(*) from flow_state where user_id = $1`,
      [user.user.id],
    )
    expect(rows[0]?.count).toBe('0')
    // The form of the account page has the token of the factor page's "use another account".
    const fields = {
      csrf: /name="csrf" value="([^"]*)"/.exec(page.text.split('sign-out')[1] ?? '')?.[1] ?? '',
    }
    const forced = await browser.post('/ui/continue', { ...fields, redirect_to: APPLICATION })
    expect(forced.location).toContain('/ui/factor')
  })

  it('come after a mailed link too', async () => {
    const user = await aUserWithTotp(server)
    const before = (await mailTo(server, user.email)).mail
    const browser = aBrowser(server)
    await browser.submit(await browser.get('/ui'), '/ui/mail', { identifier: user.email })
    const { link = '' } = await mailTo(server, user.email, before)
    expect((await settle(browser, await browser.get(link))).text).toContain('Confirm it is you')
  })

  it('on a phone are sent a code when the button is pressed', async () => {
    const user = await aUser(server)
    const phone = aPhone()
    const token = user.access_token
    const { body } = await post(
      server,
      '/factors',
      { factor_type: 'phone', phone, friendly_name: 'mobile' },
      { token },
    )
    const id = String(body['id'])
    const challenge = await post(server, `/factors/${id}/challenge`, {}, { token })
    const answer = { challenge_id: challenge.body['id'], code: gateway.codeFor(phone) }
    expect((await post(server, `/factors/${id}/verify`, answer, { token })).status).toBe(200)
    server.clock.advance(120_000)

    const browser = aBrowser(server)
    const page = await settle(browser, await signIn(browser, user))
    const sent = await settle(browser, await browser.submit(page, '/ui/factor/send'))
    const done = await settle(
      browser,
      await browser.submit(sent, '/ui/factor', { code: gateway.codeFor(phone) }),
    )
    expect(done.text).toContain('You are signed in')
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

/** A page without what differs by visit. */
const masked = (text: string, address: string): string =>
  text
    .replaceAll(address, 'ADDRESS')
    .replace(/name="csrf" value="[^"]*"/g, '')
    .replace(/nonce="[^"]*"/g, '')
