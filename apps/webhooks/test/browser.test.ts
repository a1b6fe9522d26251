import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { BrowserContext, Page } from 'playwright-core'
import { waitFor } from '@signet/testkit'
import { type Chromium, launchChromium, sidewaysScroll } from '@signet/testkit/chromium'
import { describeInBrowser } from '@signet/testkit/browser'
import { OAuthTester, type RegisteredClient } from './support/oauth.js'
import { pkce } from './support/pkce.js'
import { startHarness, type Harness } from './support/harness.js'
import type { User } from './support/identity-double.js'

const HTTPS_REDIRECT = 'https://app.example/oauth/callback'

describeInBrowser('the pages in Chromium', () => {
  let harness: Harness
  let oauth: OAuthTester
  let browser: Chromium
  let application: Server
  let redirect: string
  let context: BrowserContext
  let page: Page

  beforeAll(async () => {
    harness = await startHarness({
      env: {
        WEBHOOKS_OAUTH_REDIRECT_ALLOW_LIST: HTTPS_REDIRECT,
      },
    })
    oauth = new OAuthTester(harness)
    browser = await launchChromium()
    // After our redirect, the application redirects once more, which a form-action policy would block.
    application = createServer((req, res) => {
      if (req.url?.startsWith('/callback'))
        res.writeHead(302, { location: `/connected${req.url.slice(9)}` }).end()
      else res.end('<title>Connected</title>')
    })
    await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve))
    redirect = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`
  })
  afterAll(async () => {
    await browser.close()
    application.close()
    await harness.close()
  })
  beforeEach(async () => {
    context = await browser.newContext({ viewport: { width: 1100, height: 760 } })
    page = await context.newPage()
  })
  afterEach(() => context.close())

  const open = async (client: RegisteredClient, parameters: Record<string, string | undefined> = {}) => {
    await page.goto(
      oauth.authorizeUrl(client.client_id, { redirect_uri: client.redirect_uris[0], ...parameters }),
    )
  }
  const signIn = async (user: User) => {
    await page.fill('#identifier', user.email)
    await page.fill('#password', user.password)
    await page.click('button:text-is("Sign in")')
  }
  const connect = async (
    metadata: Record<string, unknown> = {},
    parameters: Record<string, string | undefined> = {},
  ) => {
    const user = harness.identity.addUser()
    const client = await oauth.client({ redirect_uris: [redirect], ...metadata })
    await open(client, parameters)
    await signIn(user)
    return { user, client }
  }

  it('signs in and approves for a loopback redirect, on to the application’s own page', async () => {
    const { user } = await connect()
    expect(await page.textContent('.facts')).toContain(user.email)
    await page.click('text=Approve')
    await page.waitForURL(/\/connected\?code=svc_/)
    expect(await page.title()).toBe('Connected')
  })

  it('approves for an https redirect', async () => {
    await connect({ redirect_uris: [HTTPS_REDIRECT] })
    expect(await page.textContent('.facts')).toContain('app.example')
    // The host does not exist, so the browser ends on an error page. What counts is its request.
    const sentOn = page.waitForRequest(/^https:\/\/app\.example\/oauth\/callback\?code=svc_/)
    await page.click('text=Approve')
    await sentOn
  })

  it('stays as wide as the window, whatever an application is called', async () => {
    await page.setViewportSize({ width: 360, height: 740 })
    // Browsers break no line inside such a cluster.
    await connect({ client_name: 'ก' + 'ำ'.repeat(190) })
    expect(await sidewaysScroll(page)).toBe(0)
    const { x, width } = (await page.locator('text=Approve').boundingBox())!
    expect(x + width).toBeLessThanOrEqual(360)
  })

  it('denies', async () => {
    await connect()
    await page.click('text=Deny')
    await page.waitForURL(/\/connected\?error=access_denied/)
  })

  it('switches the account', async () => {
    await connect()
    const other = harness.identity.addUser()
    await page.click('text=Use another account')
    await signIn(other)
    expect(await page.textContent('.facts')).toContain(other.email)
  })

  it('shows a page when the transaction has expired', async () => {
    const { user } = await connect()
    await harness.db.query(
      `update oauth_authorizations a set created_at = now() - interval '11 minutes', expires_at = now() - interval '1 minute'
         from login_sessions s where s.id_hash = a.session_hash and s.account_id = $1`,
      [user.id],
    )
    await page.click('text=Approve')
    expect(await page.textContent('main')).toContain('took longer than ten minutes')
  })

  it('makes one code of a double click', async () => {
    const { user } = await connect()
    const codes = async () => {
      const { rows } = await harness.db.query(
        'select 1 from oauth_codes k join oauth_grants g on g.id = k.grant_id where g.account_id = $1',
        [user.id],
      )
      return rows.length
    }
    await page.dblclick('text=Approve', { noWaitAfter: true }).catch(() => undefined)
    await waitFor(async () => (await codes()) > 0)
    await page.waitForLoadState('networkidle')
    expect(await codes()).toBe(1)
  })

  it('makes no second code after the back button', async () => {
    const { verifier, challenge } = pkce()
    const { user, client } = await connect({}, { code_challenge: challenge })
    await page.click('text=Approve')
    await page.waitForURL(/connected/)
    const code = new URL(page.url()).searchParams.get('code') ?? ''
    await oauth.exchange(client, { code, verifier })
    await page.goBack()
    expect(page.url()).toContain('/oauth/authorize')
    const approve = await page.$('text=Approve')
    await approve?.click()
    expect(await page.textContent('h1')).toBe('This request is no longer open')
    expect(await page.textContent('main')).toContain('already answered')
    const { rows } = await harness.db.query('select 1 from oauth_grants where account_id = $1', [user.id])
    expect(rows).toHaveLength(1)
  })

  it('refuses to be framed', async () => {
    const client = await oauth.client({ redirect_uris: [redirect] })
    const url = oauth.authorizeUrl(client.client_id, { redirect_uri: redirect })
    const user = harness.identity.addUser()
    await open(client)
    await signIn(user)
    await page.goto(redirect)
    await page.setContent(`<iframe src="${url.replaceAll('&', '&amp;')}"></iframe>`)
    await page.waitForLoadState('networkidle')
    const frame = page.frames().find((candidate) => candidate !== page.mainFrame())
    expect(await frame?.$('text=Approve')).toBeNull()
  })

  it('opens on the landing page, signs in and out, and offers nothing to a program', async () => {
    const user = harness.identity.addUser()
    await page.goto(harness.base)
    await page.click('text=Sign in')
    await signIn(user)
    expect(await page.textContent('main')).toContain(user.email)
    await page.click('text=Sign out')
    expect(await page.textContent('main')).not.toContain(user.email)
    expect((await oauth.json('/')).status).toBe(404)
  })
})
