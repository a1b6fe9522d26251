import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { decodeJwt } from 'jose'
import {
  accessibilityFindings,
  type Chromium,
  launchChromium,
  plugInAuthenticator,
  sidewaysScroll,
} from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import type { BrowserContext, Page } from 'playwright-core'
import { aUser, PASSWORD, post, type Json } from '../support/api.js'
import { methodsOf } from '../support/factors.js'
import type { TestServer } from '../support/server.js'
import { onLocalhost, startUi } from './support.js'

describeInBrowser('passkeys in Chromium', () => {
  let server: TestServer
  let site: string
  let browser: Chromium
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    const local = await onLocalhost()
    site = local.site
    server = await startUi({ ...local.env, AUTH_URI_ALLOW_LIST: `${site}/**` })
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser.close()
    await server.close()
  })
  beforeEach(async () => {
    context = await browser.newContext({ viewport: { width: 360, height: 740 } })
    page = await context.newPage()
  })
  afterEach(() => context.close())

  const plugIn = () => plugInAuthenticator(page)

  /** Checks in another tab, because a debugger that detaches from a tab removes the simulated device. */
  async function isAccessible(): Promise<void> {
    const beside = await context.newPage()
    await beside.goto(page.url())
    expect(await accessibilityFindings(beside)).toEqual([])
    expect(await sidewaysScroll(beside)).toBe(0)
    await beside.close()
    await page.bringToFront()
    await page.reload()
  }
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
  const says = (text: string) => page.getByRole('status').filter({ hasText: text }).waitFor()
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  async function signIn(email: string): Promise<void> {
    await page.goto(`${site}/ui`)
    await page.getByLabel('Email', { exact: true }).fill(email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button('Sign in').click()
  }
  async function onCreation() {
    const user = await aUser(server)
    await signIn(user.email)
    await page.getByRole('link', { name: 'Manage your account' }).click()
    await page.getByRole('link', { name: 'Create a passkey' }).click()
    await heading('Create a passkey')
    return user
  }
  async function aPasskey() {
    const user = await onCreation()
    await button('Create a passkey').click()
    await says('The passkey was created.')
    return user
  }
  /** Simulates browsers that do not offer passkeys while someone types an email address. */
  const withButtonsOnly = () =>
    page.addInitScript('delete PublicKeyCredential.isConditionalMediationAvailable')

  /** Enrolls the device as a second factor, as the public client does in a page of an application. */
  async function enrollKey(token: string): Promise<void> {
    const options = { token }
    const { body: factor } = await post(server, '/factors', { factor_type: 'webauthn' }, options)
    const path = `/factors/${String(factor['id'])}`
    const { body } = await post(server, `${path}/challenge`, {}, options)
    const { credential_options: asked } = body['webauthn'] as { credential_options: { publicKey: Json } }
    const credential_response = await page.evaluate<Json>(
      `navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(${JSON.stringify(asked.publicKey)}),
      }).then((made) => made.toJSON())`,
    )
    const answer = { challenge_id: body['id'], webauthn: { type: 'create', credential_response } }
    expect((await post(server, `${path}/verify`, answer, options)).status).toBe(200)
  }

  it('are created on the account page, and sign in at the press of a button, for an application, at aal2', async () => {
    await plugIn()
    await withButtonsOnly()
    const user = await aPasskey()
    await page.goto(`${site}/ui/account/passkey`)
    await isAccessible()
    await context.clearCookies()
    await page.goto(`${site}/ui?redirect_to=${encodeURIComponent(`${site}/openapi.json`)}`)
    await isAccessible()
    await button('Sign in with a passkey').click()
    await page.waitForURL(/#access_token=/)
    const token = new URLSearchParams(new URL(page.url()).hash.slice(1)).get('access_token') ?? ''
    expect(decodeJwt(token)).toMatchObject({ sub: user.user.id, aal: 'aal2' })
    expect(methodsOf(token)).toEqual(['passkey'])
  })

  it('are offered while an address is typed, without a press of the button', async () => {
    await plugIn()
    const { email } = await aPasskey()
    await context.clearCookies()
    await page.goto(`${site}/ui`)
    await heading('You are signed in')
    expect(await page.textContent('main')).toContain(email)
  })

  it('are renamed and removed on the account page, and then sign nobody in', async () => {
    await plugIn()
    await withButtonsOnly()
    await aPasskey()
    await page.locator('summary', { hasText: 'Rename' }).click()
    await page.getByLabel('Name of the passkey').fill('My laptop <b>')
    await page.getByRole('button', { name: /^Save the name: ./ }).click()
    await says('The passkey was renamed.')
    await page.getByText('My laptop <b>', { exact: true }).waitFor()
    await isAccessible()
    await page.locator('summary', { hasText: 'Remove' }).click()
    await page.getByRole('button', { name: /^Remove it: My laptop <b>\. Added / }).click()
    await says('The passkey was removed.')
    expect(await page.getByText('My laptop').count()).toBe(0)
    await context.clearCookies()
    await page.goto(`${site}/ui`)
    await button('Sign in with a passkey').click()
    await page.getByText('This passkey does not work here.').waitFor()
  })

  it('say so where there is none, and the password still works', async () => {
    await plugIn()
    const user = await aUser(server)
    await withButtonsOnly()
    await page.goto(`${site}/ui`)
    await button('Sign in with a passkey').click()
    await page.getByText('That did not work').waitFor()
    await signIn(user.email)
    await heading('You are signed in')
  })

  it('are not offered without a script, and the page to create one says why', async () => {
    await context.close()
    context = await browser.newContext({ javaScriptEnabled: false })
    page = await context.newPage()
    await page.goto(`${site}/ui`)
    expect(await button('Sign in with a passkey').isVisible()).toBe(false)
    await onCreation()
    expect(await button('Create a passkey').isVisible()).toBe(false)
    expect(await page.textContent('main')).toContain('cannot create passkeys')
  })

  it('are listed along with security keys, which confirm a sign-in', async () => {
    await plugIn()
    await withButtonsOnly()
    const user = await aUser(server)
    await signIn(user.email)
    await heading('You are signed in')
    await enrollKey(user.access_token)
    await context.clearCookies()
    await signIn(user.email)
    await heading('Confirm it’s you')
    await isAccessible()
    await button('Use it now').click()
    await heading('You are signed in')
  })
})
