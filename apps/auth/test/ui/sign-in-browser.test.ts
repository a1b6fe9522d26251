import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { clickRepeatedly, describeInBrowser } from '@signet/testkit/browser'
import { anEmail, aPhone, aUser, get, PASSWORD, post } from '../support/api.js'
import { providerEnv, startFakeProvider, type FakeProvider } from '../support/fake-provider.js'
import type { TestServer } from '../support/server.js'
import { startSmsServer, type SmsGateway } from '../support/sms-gateway.js'
import { inChromium, startApplication } from './chromium.js'
import { aUserWithTotp, pkce, startUi } from './support.js'

describeInBrowser('signing in, in Chromium', () => {
  let server: TestServer
  let gateway: SmsGateway
  let provider: FakeProvider
  let application: Awaited<ReturnType<typeof startApplication>>
  beforeAll(async () => {
    provider = await startFakeProvider()
    ;({ gateway, server } = await startSmsServer(
      { ...providerEnv('gitlab', provider.url), ...providerEnv('github', provider.url) },
      startUi,
    ))
    application = await startApplication()
  })
  afterAll(async () => {
    application.close()
    await server.close()
    await provider.close()
  })
  const home = () => application.home
  const { page, open, focusOn, heading, press, signIn } = inChromium(() => server)

  it('signs in for an application, whose page has the session in its fragment', async () => {
    const user = await aUser(server)
    await open({ redirect_to: home() })
    expect(await page().textContent('main')).toContain('an application on this computer')
    await signIn(user.email)
    await page().waitForURL(/\/signed-in#access_token=/)
    const token = new URLSearchParams(new URL(page().url()).hash.slice(1)).get('access_token') ?? ''
    expect((await get(server, '/user', { token })).body['email']).toBe(user.email)
    const referrer = await page().evaluate<string>('document.referrer')
    expect(referrer).not.toContain('token')
  })

  it('gives an application with a challenge a code', async () => {
    const user = await aUser(server)
    const { verifier, query } = pkce()
    await open({ redirect_to: home(), ...query })
    await signIn(user.email)
    await page().waitForURL(/\/signed-in\?code=/)
    const answer = await post(server, '/token?grant_type=pkce', {
      auth_code: new URL(page().url()).searchParams.get('code'),
      code_verifier: verifier,
    })
    expect(answer.status).toBe(200)
  })

  it('sends no refused form again, neither by a reload nor on the way back, and keeps the application', async () => {
    const user = await aUser(server)
    await open({ redirect_to: home() })
    const form = page().url()
    for (const wrong of ['wrong password', 'another']) {
      await signIn(user.email, wrong)
      await page().getByRole('alert').waitFor()
      expect(page().url()).toBe(form)
    }
    await page().reload()
    expect(await page().getByRole('alert').count()).toBe(0)
    await signIn(user.email, 'wrong again')
    await page().getByRole('alert').waitFor()
    await signIn(user.email)
    await page().waitForURL(/\/signed-in#access_token=/)
    await page().goBack()
    expect([page().url(), await heading()]).toEqual([form, 'You are signed in'])
  })

  it('says so after a wrong password, keeps the address and empties the password', async () => {
    const user = await aUser(server)
    await open()
    await signIn(user.email, 'wrong password')
    expect(await page().getByRole('alert').textContent()).toContain('incorrect')
    expect(await page().getByLabel('Email or phone number').inputValue()).toBe(user.email)
    expect(await page().getByLabel('Password').inputValue()).toBe('')
    await signIn(user.email)
    expect(await heading()).toBe('You are signed in')
    await press('Sign out')
    expect(await heading()).toBe('Sign in')
  })

  it('offers the providers that are switched on, and signs in through one', async () => {
    provider.answer('GET /oauth/authorize', ({ query }) => ({
      status: 302,
      headers: { location: `${server.url}/callback?state=${query['state'] ?? ''}&code=the-code` },
    }))
    const email = anEmail()
    provider.answer('POST /oauth/token', { body: { access_token: 'provider-token', token_type: 'bearer' } })
    provider.answer('GET /api/v4/user', {
      body: { id: email, email, name: 'Ada', confirmed_at: '2020-01-01T00:00:00Z' },
    })
    provider.answer('GET /api/v4/user/emails', { body: [] })
    await open({ redirect_to: home() })
    const offered = await page().getByRole('button', { name: 'Continue with' }).allTextContents()
    expect(offered.map((text) => text.trim())).toEqual(['Continue with GitHub', 'Continue with GitLab'])
    await press('Continue with GitLab')
    await page().waitForURL(/\/signed-in#access_token=/)
  })

  it('asks for the second factor', async () => {
    const user = await aUserWithTotp(server)
    await open({ redirect_to: home() })
    await signIn(user.email)
    expect(await heading()).toBe('Confirm it’s you')
    await page().getByLabel('Code').fill(user.code())
    await press('Continue')
    await page().waitForURL(/\/signed-in#access_token=/)
  })

  it('signs in with a code by SMS', async () => {
    const phone = aPhone()
    await post(server, '/otp', { phone })
    await post(server, '/verify', { type: 'sms', phone, token: gateway.codeFor(phone) })
    server.clock.advance(120_000)
    await open()
    await page().getByRole('link', { name: 'Sign in with a code by SMS' }).click()
    await page().getByLabel('Phone number').fill(`+${phone}`)
    await press('Send a code')
    await page().getByLabel('Code').waitFor()
    await server.settled()
    await page().getByLabel('Code').fill(gateway.codeFor(phone))
    await press('Continue')
    expect(await page().textContent('main')).toContain(phone)
  })

  it('ends a double click where one click ends', async () => {
    const user = await aUserWithTotp(server)
    await open({ redirect_to: home() })
    await page().getByLabel('Email or phone number').fill(user.email)
    await page().getByLabel('Password').fill(PASSWORD)
    expect(await clickRepeatedly(page(), 'button:text-is("Sign in")')).toEqual(['/ui/sign-in'])
    await page().getByLabel('Code').fill(user.code())
    expect(await clickRepeatedly(page(), 'text=Continue')).toEqual(['/ui/factor'])
    await page().waitForURL(/\/signed-in#access_token=/)
  })

  it('sends a form again after some time or a return, when the first attempt led nowhere', async () => {
    await page().clock.install()
    await open()
    let attempts = 0
    await page().route('**/ui/sign-in', (route) => {
      attempts += 1
      return route.fulfill({ status: 204 })
    })
    const again = () =>
      page()
        .click('button:text-is("Sign in")')
        .then(() => attempts)
    await signIn('somebody@example.com')
    expect([attempts, await again()]).toEqual([1, 1])
    await page().clock.fastForward(10_000)
    expect([await again(), await again()]).toEqual([2, 2])
    // A browser fires this event when the person returns to a page that it kept.
    await page().evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
    expect(await again()).toBe(3)
  })

  it('shows and hides what is typed as the password, and never sends it shown', async () => {
    await open()
    const input = page().getByLabel('Password')
    await input.fill('a secret')
    await press('Show password')
    expect(await input.getAttribute('type')).toBe('text')
    await press('Hide password')
    expect(await input.getAttribute('type')).toBe('password')
    // Browsers remember what was sent from a text field.
    await press('Show password')
    await page().route('**/ui/sign-in', (route) => route.fulfill({ status: 204 }))
    await signIn('somebody@example.com', 'a secret')
    expect(await input.getAttribute('type')).toBe('password')
  })

  it('puts the focus where the mistake is, and says so to a screen reader', async () => {
    await open()
    await signIn('somebody@example.com', 'wrong')
    await focusOn('password')
    const input = page().getByLabel('Password')
    expect(await input.getAttribute('aria-describedby')).toBe('notice')
    expect(await page().locator('#notice').textContent()).toContain('incorrect')
  })

  it('refuses to be framed', async () => {
    await page().goto(home())
    await page().setContent(`<iframe src="${server.url}/ui"></iframe>`)
    await page().waitForLoadState('networkidle')
    const frame = page()
      .frames()
      .find((candidate) => candidate !== page().mainFrame())
    expect(await frame?.$('#password')).toBeNull()
  })

  it('is used with the keyboard, and shows where the focus is', async () => {
    const user = await aUser(server)
    await open()
    await focusOn('identifier')
    await page().keyboard.type(user.email)
    await page().keyboard.press('Tab')
    await page().keyboard.type(PASSWORD)
    // Skips the button that shows the password.
    await page().keyboard.press('Tab')
    await page().keyboard.press('Tab')
    const outline = await page().evaluate<string>('getComputedStyle(document.activeElement).outlineStyle')
    expect(outline).toBe('solid')
    await page().keyboard.press('Enter')
    await page().waitForSelector('text=You are signed in')
  })
})
