import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { accessibilityFindings, chromiumPath, launchChromium, sidewaysScroll } from '@signet/local/browser'
import { clickImpatiently } from '@signet/testkit/browser'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { anEmail, aPhone, aUser, get, mailTo, PASSWORD, post } from '../support/api.js'
import { providerEnv, startFakeProvider, type FakeProvider } from '../support/fake-provider.js'
import type { TestServer } from '../support/server.js'
import { startSmsServer, type SmsGateway } from '../support/sms-gateway.js'
import { aBrowser, aUserWithTotp, pkce, startUi, submitted, uiPath } from './support.js'

const executable = chromiumPath()
// Everywhere else these tests run; a machine without a browser says so and counts them as skipped.
const describeInBrowser = executable === null ? describe.skip : describe

describeInBrowser('the sign-in page in Chromium', () => {
  let server: TestServer
  let gateway: SmsGateway
  let provider: FakeProvider
  let application: Server
  let home: string
  let browser: Browser
  let context: BrowserContext
  let page: Page
  /** Everything the browser asked for that is not the service. */
  let foreign: string[]

  beforeAll(async () => {
    provider = await startFakeProvider()
    ;({ gateway, server } = await startSmsServer(
      { ...providerEnv('gitlab', provider.url), ...providerEnv('github', provider.url) },
      startUi,
    ))
    application = createServer((_, res) => res.end('<title>Application</title>')).listen(0, '127.0.0.1')
    await once(application, 'listening')
    home = `http://127.0.0.1:${(application.address() as AddressInfo).port}/signed-in`
    browser = await launchChromium(executable)
  })
  afterAll(async () => {
    await browser.close()
    application.close()
    await server.close()
    provider.close()
  })
  beforeEach(async () => {
    await newContext({})
  })
  afterEach(() => context.close())

  async function newContext(options: Parameters<Browser['newContext']>[0]) {
    context = await browser.newContext({ viewport: { width: 1100, height: 800 }, ...options })
    page = await context.newPage()
    foreign = []
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url)) foreign.push(request.url())
    })
  }

  const open = (query: Record<string, string> = {}, below = '') =>
    page.goto(`${server.url}${uiPath(query, below)}`)
  const heading = () => page.getByRole('heading', { level: 1 }).textContent()
  const press = (name: string) => page.getByRole('button', { name }).click()
  const signIn = async (email: string, password = PASSWORD) => {
    await page.getByLabel('Email or phone number').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  }

  it('signs in for an application, whose page has the session in its fragment', async () => {
    const user = await aUser(server)
    await open({ redirect_to: home })
    expect(await page.textContent('main')).toContain('an application on this computer')
    await signIn(user.email)
    await page.waitForURL(/\/signed-in#access_token=/)
    const token = new URLSearchParams(new URL(page.url()).hash.slice(1)).get('access_token') ?? ''
    expect((await get(server, '/user', { token })).body['email']).toBe(user.email)
    const referrer = await page.evaluate<string>('document.referrer')
    expect(referrer).not.toContain('token')
  })

  it('gives an application with a challenge a code', async () => {
    const user = await aUser(server)
    const { verifier, query } = pkce()
    await open({ redirect_to: home, ...query })
    await signIn(user.email)
    await page.waitForURL(/\/signed-in\?code=/)
    const answer = await post(server, '/token?grant_type=pkce', {
      auth_code: new URL(page.url()).searchParams.get('code'),
      code_verifier: verifier,
    })
    expect(answer.status).toBe(200)
  })

  it('says so after a wrong password, keeps the address and empties the password', async () => {
    const user = await aUser(server)
    await open()
    await signIn(user.email, 'wrong password')
    expect(await page.getByRole('alert').textContent()).toContain('incorrect')
    expect(await page.getByLabel('Email or phone number').inputValue()).toBe(user.email)
    expect(await page.getByLabel('Password').inputValue()).toBe('')
    await signIn(user.email)
    expect(await heading()).toBe('You are signed in')
    await press('Sign out')
    expect(await heading()).toBe('Sign in')
  })

  it('makes an account without JavaScript, by the link of the email', async () => {
    await context.close()
    await newContext({ javaScriptEnabled: false })
    const email = anEmail()
    await open({ redirect_to: home })
    await page.getByRole('link', { name: 'Create an account' }).click()
    await page.getByLabel('Email or phone number').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await press('Create account')
    expect(await heading()).toBe('Check your email')
    await page.goto((await mailTo(server, email)).link ?? '')
    await press('Continue')
    await page.waitForURL(/\/signed-in#access_token=/)
  })

  it('signs in by an emailed link without asking for the password', async () => {
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    await open()
    await page.getByLabel('Email or phone number').fill(user.email)
    await press('Email me a sign-in link')
    const link = (await mailTo(server, user.email, before)).link ?? ''
    await page.goto(link)
    expect(await heading()).toContain(user.email)
    await press('Continue')
    expect(await heading()).toBe('You are signed in')
    await page.reload()
    expect(await heading()).toBe('You are signed in')
    await page.goto(link)
    expect(await heading()).toBe('You are signed in')
  })

  it('lets somebody choose a new password', async () => {
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    await open()
    await page.getByRole('link', { name: 'Forgot password?' }).click()
    await page.getByLabel('Email').fill(user.email)
    await press('Email me a link')
    await page.goto((await mailTo(server, user.email, before)).link ?? '')
    await press('Choose a new password')
    expect(await heading()).toBe('Choose a new password')
    await page.getByLabel('New password').fill('another horse battery')
    await press('Save')
    expect(await heading()).toBe('You are signed in')
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
    await open({ redirect_to: home })
    const offered = await page.getByRole('button', { name: 'Continue with' }).allTextContents()
    expect(offered.map((text) => text.trim())).toEqual(['Continue with GitHub', 'Continue with GitLab'])
    await press('Continue with GitLab')
    await page.waitForURL(/\/signed-in#access_token=/)
  })

  it('asks for the second factor', async () => {
    const user = await aUserWithTotp(server)
    await open({ redirect_to: home })
    await signIn(user.email)
    expect(await heading()).toBe('Confirm it’s you')
    await page.getByLabel('Code').fill(user.code())
    await press('Continue')
    await page.waitForURL(/\/signed-in#access_token=/)
  })

  it('signs in with a code by SMS', async () => {
    const phone = aPhone()
    await post(server, '/otp', { phone })
    await post(server, '/verify', { type: 'sms', phone, token: gateway.codeFor(phone) })
    server.clock.advance(120_000)
    await open()
    await page.getByRole('link', { name: 'Sign in with a code by SMS' }).click()
    await page.getByLabel('Phone number').fill(`+${phone}`)
    await press('Send a code')
    await page.getByLabel('Code').fill(gateway.codeFor(phone))
    await press('Continue')
    expect(await page.textContent('main')).toContain(phone)
  })

  it('ends a double click where one click ends', async () => {
    const user = await aUserWithTotp(server)
    await open({ redirect_to: home })
    await page.getByLabel('Email or phone number').fill(user.email)
    await page.getByLabel('Password').fill(PASSWORD)
    expect(await clickImpatiently(page, 'button:text-is("Sign in")')).toEqual(['/ui/sign-in'])
    await page.getByLabel('Code').fill(user.code())
    expect(await clickImpatiently(page, 'text=Continue')).toEqual(['/ui/factor'])
    await page.waitForURL(/\/signed-in#access_token=/)
  })

  it('sends a form again after some time or a return, when the first attempt led nowhere', async () => {
    await page.clock.install()
    await open()
    let attempts = 0
    await page.route('**/ui/sign-in', (route) => {
      attempts += 1
      return route.fulfill({ status: 204 })
    })
    const again = () => page.click('button:text-is("Sign in")').then(() => attempts)
    await signIn('somebody@example.com')
    expect([attempts, await again()]).toEqual([1, 1])
    await page.clock.fastForward(10_000)
    expect([await again(), await again()]).toEqual([2, 2])
    // What a browser tells a page that it kept while the person was on the next one.
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
    expect(await again()).toBe(3)
  })

  it('goes on by itself when the link is confirmed on another device, with the number that it shows', async () => {
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    await open({ redirect_to: home })
    await page.getByLabel('Email or phone number').fill(user.email)
    await press('Email me a sign-in link')
    const number = (await page.locator('[data-status] strong').textContent()) ?? ''
    const laptop = await browser.newContext()
    const other = await laptop.newPage()
    await other.goto((await mailTo(server, user.email, before)).link ?? '')
    await other.getByLabel('Number on the other device').fill(number)
    await other.getByRole('button', { name: 'Let the other device continue' }).click()
    await page.waitForURL(/\/signed-in#access_token=/)
    expect(await other.getByRole('heading', { level: 1 }).textContent()).toBe('Confirmed')
    await laptop.close()
  })

  it('resets a password without JavaScript, on a phone whose email is read on a laptop', async () => {
    await context.close()
    await newContext({ javaScriptEnabled: false, viewport: { width: 320, height: 640 } })
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    await open({ redirect_to: home }, '/forgot')
    await page.getByLabel('Email').fill(user.email)
    await press('Email me a link')
    const number = (await page.locator('[data-status] strong').textContent()) ?? ''
    expect(await page.getByRole('button', { name: 'Send it again' }).textContent()).toMatch(
      /in \d+ (s|minutes)/,
    )
    const laptop = await browser.newContext({ javaScriptEnabled: false })
    const other = await laptop.newPage()
    await other.goto((await mailTo(server, user.email, before)).link ?? '')
    await other.getByLabel('Number on the other device').fill(number)
    await other.getByRole('button', { name: 'Let the other device continue' }).click()
    await page.getByRole('link', { name: 'continue here' }).click()
    expect(await heading()).toBe('Choose a new password')
    await page.getByLabel('New password').fill('another horse battery')
    await press('Save')
    await page.waitForURL(/\/signed-in#access_token=/)
    await laptop.close()
  })

  it('shows and hides what is typed as the password, and never sends it shown', async () => {
    await open()
    const input = page.getByLabel('Password')
    await input.fill('a secret')
    await press('Show password')
    expect(await input.getAttribute('type')).toBe('text')
    await press('Hide password')
    expect(await input.getAttribute('type')).toBe('password')
    // Browsers keep what was sent from a field of text.
    await press('Show password')
    await page.route('**/ui/sign-in', (route) => route.fulfill({ status: 204 }))
    await signIn('somebody@example.com', 'a secret')
    expect(await input.getAttribute('type')).toBe('password')
  })

  it('shows that the button is busy, and counts down to the next email', async () => {
    await page.clock.install()
    await open()
    await page.route('**/ui/sign-in', (route) => route.fulfill({ status: 204 }))
    await signIn('somebody@example.com')
    const button = page.getByRole('button', { name: 'Sign in', exact: true })
    expect(await button.getAttribute('aria-busy')).toBe('true')
    await page.clock.fastForward(10_000)
    expect(await button.getAttribute('aria-busy')).toBeNull()
    await press('Email me a sign-in link')
    const again = page.getByRole('button', { name: 'Send it again' })
    const secondsOf = async () => Number(/in (\d+) s/.exec((await again.textContent()) ?? '')?.[1])
    const first = await secondsOf()
    await page.clock.runFor(5000)
    expect(await secondsOf()).toBeLessThanOrEqual(first - 4)
    await page.clock.runFor(120_000)
    expect((await again.textContent())?.trim()).toBe('Send it again')
  })

  it('puts the focus where the mistake is, and says so to a screen reader', async () => {
    await open()
    await signIn('somebody@example.com', 'wrong')
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('password')
    const input = page.getByLabel('Password')
    expect(await input.getAttribute('aria-describedby')).toBe('notice')
    expect(await page.locator('#notice').textContent()).toContain('incorrect')
  })

  it('refuses to be framed', async () => {
    await page.goto(home)
    await page.setContent(`<iframe src="${server.url}/ui"></iframe>`)
    await page.waitForLoadState('networkidle')
    const frame = page.frames().find((candidate) => candidate !== page.mainFrame())
    expect(await frame?.$('#password')).toBeNull()
  })

  it('is used with the keyboard, and shows where the focus is', async () => {
    const user = await aUser(server)
    await open()
    await page.keyboard.type(user.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type(PASSWORD)
    // Past the button that shows the password.
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    const outline = await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle')
    expect(outline).toBe('solid')
    await page.keyboard.press('Enter')
    await page.waitForSelector('text=You are signed in')
  })

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    it.each([
      ['a narrow phone', { width: 320, height: 640 }],
      ['a desktop', { width: 1100, height: 760 }],
    ])('on %s: accessible, nothing cut off, nothing external', async (name, viewport) => {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(viewport)
      const user = await aUserWithTotp(server)
      const check = async (what: string) => {
        await takePicture(page, `${what}-${colorScheme}-${viewport.width}`)
        expect({
          what,
          findings: await accessibilityFindings(page),
          scroll: await sidewaysScroll(page),
        }).toEqual({
          what,
          findings: [],
          scroll: 0,
        })
      }
      await open({ redirect_to: `https://other.example.com/${'long'.repeat(20)}` })
      await check('sign-in')
      await signIn(`${'a'.repeat(60)}@${'b'.repeat(60)}.example.com`, 'wrong')
      await check('refused')
      for (const below of ['/sign-up', '/forgot', '/phone']) {
        await open({}, below)
        await check(below.slice(1))
      }
      await open({}, '/forgot')
      await page.getByLabel('Email').fill(`${'a'.repeat(60)}@${'b'.repeat(60)}.example.com`)
      await press('Email me a link')
      await check('code')
      const before = (await mailTo(server, user.email)).mail
      await open({}, '/link?type=magiclink&token=used')
      await check('dead-link')
      const asking = aBrowser(server)
      await submitted(asking, await asking.get('/ui/forgot'), '/ui/forgot', { email: user.email })
      await page.goto((await mailTo(server, user.email, before)).link ?? '')
      await check('link-elsewhere')
      await page.goto(`${server.url}/`)
      await check('landing')
      await open()
      await signIn(user.email)
      await check('factor')
      await page.getByLabel('Code').fill(user.code())
      await press('Continue')
      await check('account')
      await open({}, '/password')
      await check('password')
      await open({}, '/sign-out')
      await check('sign-out')
      await open({}, '/nothing')
      await check(`error page on ${name}`)
      expect(foreign).toEqual([])
    })
  })

  /** For a look at the pages: PICTURES=<folder> keeps one of each. */
  async function takePicture(shown: Page, name: string): Promise<void> {
    const folder = process.env['PICTURES']
    if (folder !== undefined) await shown.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
  }
})
