import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeInBrowser } from '@signet/testkit/browser'
import { anEmail, aUser, mailTo, PASSWORD } from '../support/api.js'
import type { TestServer } from '../support/server.js'
import { startSmsServer } from '../support/sms-gateway.js'
import { inChromium, startApplication } from './chromium.js'
import { startUi } from './support.js'

describeInBrowser('emailed links and codes, in Chromium', () => {
  let server: TestServer
  let application: Awaited<ReturnType<typeof startApplication>>
  beforeAll(async () => {
    ;({ server } = await startSmsServer({}, startUi))
    application = await startApplication()
  })
  afterAll(async () => {
    application.close()
    await server.close()
  })
  const home = () => application.home
  const { page, open, heading, press, signIn, reopen, anotherWindow } = inChromium(() => server)

  it('makes an account without JavaScript, by the link of the email', async () => {
    await reopen({ javaScriptEnabled: false })
    const email = anEmail()
    await open({ redirect_to: home() })
    await page().getByRole('link', { name: 'Create an account' }).click()
    await page().getByLabel('Email or phone number').fill(email)
    await page().getByLabel('Password').fill(PASSWORD)
    await press('Create account')
    expect(await heading()).toBe('Check your email')
    await page().goto((await mailTo(server, email)).link ?? '')
    await press('Continue')
    await page().waitForURL(/\/signed-in#access_token=/)
  })

  it('signs in by an emailed link without asking for the password', async () => {
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    await open()
    await page().getByLabel('Email or phone number').fill(user.email)
    await press('Email me a sign-in link')
    const link = (await mailTo(server, user.email, before)).link ?? ''
    await page().goto(link)
    expect(await heading()).toContain(user.email)
    await press('Continue')
    expect(await heading()).toBe('You are signed in')
    await page().reload()
    expect(await heading()).toBe('You are signed in')
    await page().goto(link)
    expect(await heading()).toBe('You are signed in')
  })

  it('lets somebody choose a new password', async () => {
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    await open()
    await page().getByRole('link', { name: 'Forgot password?' }).click()
    await page().getByLabel('Email').fill(user.email)
    await press('Email me a link')
    await page().goto((await mailTo(server, user.email, before)).link ?? '')
    await press('Choose a new password')
    expect(await heading()).toBe('Choose a new password')
    await page().getByLabel('New password').fill('another horse battery')
    await press('Save')
    expect(await heading()).toBe('You are signed in')
  })

  it('goes on by itself when the link is confirmed on another device, with the number that it shows', async () => {
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    await open({ redirect_to: home() })
    await page().getByLabel('Email or phone number').fill(user.email)
    await press('Email me a sign-in link')
    const number = (await page().locator('[data-status] strong').textContent()) ?? ''
    const laptop = await anotherWindow()
    const other = await laptop.newPage()
    await other.goto((await mailTo(server, user.email, before)).link ?? '')
    await other.getByLabel('Number on the other device').fill(number)
    await other.getByRole('button', { name: 'Let the other device continue' }).click()
    await page().waitForURL(/\/signed-in#access_token=/)
    expect(await other.getByRole('heading', { level: 1 }).textContent()).toBe('Confirmed')
    await laptop.close()
  })

  it('confirms a change of email on another device, which shows no field for a number and gets no session', async () => {
    const user = await aUser(server)
    const email = anEmail()
    await open()
    await signIn(user.email)
    await open({}, '/account/email')
    await page().getByLabel('New email address').fill(email)
    await press('Send confirmation')
    const laptop = await anotherWindow()
    const other = await laptop.newPage()
    const confirm = async (to: string) => {
      const { links } = await server.inbox.waitForMail({ to, subject: /new email address/ })
      await other.goto(links.find((url) => url.includes('token=')) ?? '')
      expect(await other.getByLabel('Number on the other device').count()).toBe(0)
      await other.getByRole('button', { name: 'Confirm' }).click()
      return other.locator('main').textContent()
    }
    expect(await confirm(email)).toContain('Now confirm at the other address')
    expect(await confirm(user.email)).toContain('Your email address was changed.')
    await open({}, '/account')
    expect(await page().locator('main').textContent()).toContain(email)
    await other.goto(page().url())
    expect(other.url()).not.toContain('/account')
    await laptop.close()
  })

  it('resets a password without JavaScript, on a phone whose email is read on a laptop', async () => {
    await reopen({ javaScriptEnabled: false, viewport: { width: 320, height: 640 } })
    const user = await aUser(server)
    const before = (await mailTo(server, user.email)).mail
    await open({ redirect_to: home() }, '/forgot')
    await page().getByLabel('Email').fill(user.email)
    await press('Email me a link')
    const number = (await page().locator('[data-status] strong').textContent()) ?? ''
    expect(await page().getByRole('button', { name: 'Send it again' }).textContent()).toMatch(
      /in \d+ (s|minutes)/,
    )
    const laptop = await anotherWindow({ javaScriptEnabled: false })
    const other = await laptop.newPage()
    await other.goto((await mailTo(server, user.email, before)).link ?? '')
    await other.getByLabel('Number on the other device').fill(number)
    await other.getByRole('button', { name: 'Let the other device continue' }).click()
    await page().getByRole('link', { name: 'continue here' }).click()
    expect(await heading()).toBe('Choose a new password')
    await page().getByLabel('New password').fill('another horse battery')
    await press('Save')
    await page().waitForURL(/\/signed-in#access_token=/)
    await laptop.close()
  })

  it('shows that the button is busy, and counts down to the next email', async () => {
    await page().clock.install()
    await open()
    await page().route('**/ui/sign-in', (route) => route.fulfill({ status: 204 }))
    await signIn('somebody@example.com')
    const button = page().getByRole('button', { name: 'Sign in', exact: true })
    expect(await button.getAttribute('aria-busy')).toBe('true')
    await page().clock.fastForward(10_000)
    expect(await button.getAttribute('aria-busy')).toBeNull()
    await press('Email me a sign-in link')
    const again = page().getByRole('button', { name: 'Send it again' })
    await again.waitFor()
    // Wait until the script of the page has started its countdown.
    await page().waitForLoadState()
    const secondsOf = async () => Number(/in (\d+) s/.exec((await again.textContent()) ?? '')?.[1])
    const first = await secondsOf()
    await page().clock.runFor(5000)
    expect(await secondsOf()).toBeLessThanOrEqual(first - 4)
    await page().clock.runFor(120_000)
    expect((await again.textContent())?.trim()).toBe('Send it again')
  })
})
