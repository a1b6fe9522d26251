import { TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { describeInBrowser } from '@signet/testkit/browser'
import { aUser, PASSWORD } from '../support/api.js'
import { NO_EMAIL_GAPS, type TestServer } from '../support/server.js'
import { inChromium } from './chromium.js'
import { startUi } from './support.js'

describeInBrowser('the account page in Chromium', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startUi({ ...NO_EMAIL_GAPS, AUTH_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '100000' })
  })
  afterAll(() => server.close())
  const { page, open, focusOn, heading, press, signIn, reopen, check } = inChromium(() => server)

  const keyFromPage = async () =>
    ((await page().locator('.secret').textContent()) ?? '').replaceAll(/\s/g, '')
  const codeOf = (secret: string) =>
    new TOTP({ secret }).generate({ timestamp: server.clock.now().getTime() })

  async function addAuthenticator(name: string): Promise<string> {
    await page().getByRole('link', { name: 'Add an authenticator app' }).click()
    await page().getByLabel('Name of the app or device').fill(name)
    await press('Continue')
    const secret = await keyFromPage()
    await page().getByRole('textbox', { name: 'Code' }).fill(codeOf(secret))
    await press('Add the app')
    return secret
  }

  it('adds a second factor and recovery codes, and signs in with one, without JavaScript', async () => {
    await reopen({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } })
    const user = await aUser(server)
    await open({}, '/account')
    await signIn(user.email)
    expect(await heading()).toBe('Your account')
    await addAuthenticator('my phone')
    expect(await page().getByRole('status').textContent()).toContain('The app was added.')
    await page().getByRole('link', { name: 'Create recovery codes' }).click()
    await press('Create ten new codes')
    const codes = await page().locator('.codes li').allTextContents()
    expect(codes).toHaveLength(10)
    await reopen({ javaScriptEnabled: false })
    await open({}, '/account')
    await signIn(user.email)
    await page().getByRole('link', { name: 'Use a recovery code' }).click()
    await page()
      .getByLabel('Recovery code')
      .fill(codes[3] ?? '')
    await press('Continue')
    expect(await heading()).toBe('Your account')
    expect(await page().textContent('main')).toContain('You have 9 codes left.')
    await page().locator('summary', { hasText: 'Remove' }).click()
    await press('Remove it: my phone')
    expect(await page().getByRole('status').textContent()).toContain('The second factor was removed.')
  })

  it('tells the buttons of two passwords apart by name', async () => {
    const user = await aUser(server)
    await open({}, '/account')
    await signIn(user.email)
    // Only an old sign-in is asked for the current password.
    await server.context.db.query(
      `update sessions set amr = '[{"method":"password","at":"2026-01-01T00:00:00Z"}]' where user_id = $1`,
      [user.user.id],
    )
    await open({}, '/password')
    for (const label of ['Current password', 'New password']) {
      await press(`Show password: ${label}`)
      expect(await page().getByLabel(label, { exact: true }).getAttribute('type')).toBe('text')
      expect(
        await page()
          .getByRole('button', { name: `Hide password: ${label}` })
          .isVisible(),
      ).toBe(true)
    }
  })

  it('is used with the keyboard only, to the end of the account and back', async () => {
    const user = await aUser(server)
    await open({}, '/account')
    await focusOn('identifier')
    await page().keyboard.type(user.email)
    await page().keyboard.press('Tab')
    await page().keyboard.type(PASSWORD)
    await page().keyboard.press('Enter')
    await page().waitForSelector('h1:text-is("Your account")')
    const focused = () => page().evaluate<string>('document.activeElement.textContent.trim()')
    for (let steps = 0; steps < 60 && (await focused()) !== 'Delete your account'; steps += 1)
      await page().keyboard.press('Tab')
    expect(await page().evaluate<string>('getComputedStyle(document.activeElement).outlineStyle')).toBe(
      'solid',
    )
    await page().keyboard.press('Enter')
    await page().waitForSelector('h1:text-is("Delete your account")')
    await focusOn('password')
    await page().keyboard.type('wrong password')
    await page().keyboard.press('Enter')
    await page().waitForSelector('#notice')
    await focusOn('password')
    await page().keyboard.type(PASSWORD)
    await page().keyboard.press('Enter')
    await page().waitForSelector('h1:text-is("Goodbye")')
    await open()
    await signIn(user.email)
    expect(await heading()).toBe('Your account will be deleted')
    await press('Keep my account')
    expect(await heading()).toBe('Your account')
  })

  it.each([
    ['a phone', { width: 360, height: 740 }],
    ['a desktop', { width: 1100, height: 760 }],
  ])('on %s is accessible in light and dark, nothing cut off, nothing external', async (name, viewport) => {
    await reopen({ viewport })
    const look = (what: string) => check(`${what}-${name}`)
    const user = await aUser(server)
    await open({}, '/account')
    await signIn(user.email)
    await look('account-home')
    const secret = await addAuthenticator('a name of an authenticator app that goes on and on without an end')
    await look('account-done')
    for (const below of ['/email', '/authenticator', '/recovery-codes', '/delete']) {
      await open({}, `/account${below}`)
      await look(`account${below.replace('/', '-')}`)
    }
    await open({}, '/account/authenticator')
    await page().getByLabel('Name of the app or device').fill('another')
    await press('Continue')
    await look('account-qr')
    await open({}, '/account/recovery-codes')
    await press('Create ten new codes')
    await look('account-codes')
    await open({}, '/account/email')
    await page()
      .getByLabel('New email address')
      .fill(`${'a'.repeat(50)}@${'b'.repeat(50)}.example.com`)
    await press('Send confirmation')
    await look('account-email-waiting')
    await open({}, '/account/delete')
    await page().getByLabel('Current password').fill(PASSWORD)
    await press('Delete my account')
    await look('account-gone')
    await open()
    await signIn(user.email)
    await page().getByRole('link', { name: 'Use a recovery code' }).click()
    await look('account-recovery')
    await page().getByRole('link', { name: 'Use another way' }).click()
    server.clock.advance(30_000)
    await page().getByRole('textbox', { name: 'Code' }).fill(codeOf(secret))
    await press('Continue')
    await look('account-pending')
  })
})
