import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startInbox, type Inbox } from '@signet/local'
import { Person, phoneSettings, startStack, type Stack } from '@signet/testkit'
import { type FormBrowser, formOf, type Seen } from './support/browser.js'
import { land } from './support/landing.js'
import { OAuthTester } from './support/oauth.js'

// B.8 with the identity server of this product, both as built. What it asks of others is real too (email) or speaks the
// real protocol (GitHub). Only CAPTCHA is missing here, because that server asks the providers at fixed addresses: the
// double of sign-in-steps.test.ts demands one.
const FACTOR_PHONE = '4915199999999'
let stack: Stack
let oauth: OAuthTester
let inbox: Inbox
let github: Server

beforeAll(async () => {
  inbox = await startInbox()
  github = startGitHub()
  await new Promise<void>((resolve) => github.listen(0, '127.0.0.1', resolve))
  const gitHubUrl = `http://127.0.0.1:${(github.address() as AddressInfo).port}`
  stack = await startStack({
    apps: ['auth', 'webhooks'],
    env: {
      auth: {
        AUTH_SMTP_PORT: String(inbox.smtpPort),
        ...phoneSettings(FACTOR_PHONE, '424242'),
        AUTH_ALLOW_PRIVATE_PROVIDER_URLS: 'true',
        AUTH_EXTERNAL_GITHUB_ENABLED: 'true',
        AUTH_EXTERNAL_GITHUB_CLIENT_ID: 'client-id',
        AUTH_EXTERNAL_GITHUB_SECRET: 'client-secret',
        AUTH_EXTERNAL_GITHUB_REDIRECT_URI: 'https://auth.example/callback',
        AUTH_EXTERNAL_GITHUB_URL: gitHubUrl,
      },
      webhooks: {
        WEBHOOKS_SIGN_IN_MAGIC_LINK: 'true',
        WEBHOOKS_SIGN_IN_PROVIDERS: 'github,gitlab',
        WEBHOOKS_RATE_LIMITS_ENABLED: 'false',
      },
    },
  })
  oauth = new OAuthTester({ base: stack.webhooksUrl, origin: stack.webhooksUrl })
})
afterAll(async () => {
  await stack?.close()
  github.close()
  await inbox.close()
})

/** GitHub as an enterprise server has it: one person, who always agrees. */
const startGitHub = () =>
  createServer((req, res) => {
    const answers: Record<string, unknown> = {
      '/login/oauth/access_token': { access_token: 'gho_x', token_type: 'bearer', scope: 'user:email' },
      '/api/v3/user': { id: 583_231, login: 'octo', name: 'Octo Cat' },
      '/api/v3/user/emails': [{ email: 'octo@github.example', primary: true, verified: true }],
    }
    const answer = answers[(req.url ?? '').split('?')[0] ?? '']
    res
      .writeHead(answer ? 200 : 404, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer ?? {}))
  })

const signIn = (browser: FormBrowser, page: Seen, identifier: string, password: string) =>
  browser.submit(page, '/login', { identifier, password })

/** Approves, and answers what the application's redirect URI gets. */
async function approve(browser: FormBrowser, consent: Seen): Promise<string | null> {
  return (await browser.submit(consent, '/decision', { decision: 'approve' })).location
}

const admin = async (method: string, path: string, body?: object) => {
  const response = await fetch(`${stack.authUrl}/admin/users/${path}`, {
    method,
    headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  expect(response.status).toBe(200)
}

/** From a redirect of the identity server back to our landing page: the token in the fragment, then the consent page. */
async function comeBack(browser: FormBrowser, location: string | null): Promise<Seen> {
  const url = new URL(location ?? '')
  expect(`${url.origin}${url.pathname}`).toBe(`${stack.webhooksUrl}/oauth/callback`)
  const token = new URLSearchParams(url.hash.slice(1)).get('access_token') ?? ''
  const landed = await land(browser, url.searchParams.get('txn') ?? '', token)
  expect(landed.status).toBe(200)
  return browser.get(landed.location ?? '')
}

const visit = async (url: string, cookie = '') => (await open(url, cookie)).headers.get('location')
const open = (url: string, cookie = '') =>
  fetch(url, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } })
/** What a browser would send back of the cookies in a response. */
const cookiesOf = (response: Response) =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')

describe('with the real identity server', () => {
  it('signs in with an email address, and refuses a wrong password, an unknown user and a banned user alike', async () => {
    const person = await Person.signUp(stack.authUrl)
    const { browser, page } = await oauth.signInPage()
    const refusals = [
      await signIn(browser, page, person.email, 'wrong'),
      await signIn(browser, page, 'nobody@example.test', person.password),
    ]
    const consent = await browser.follow(await signIn(browser, page, person.email, person.password))
    expect(consent.text).toContain(person.email)
    expect(await approve(browser, consent)).toContain('code=svc_')
    await admin('PUT', person.id, { ban_duration: '1h' })
    const again = await oauth.signInPage()
    refusals.push(await signIn(again.browser, again.page, person.email, person.password))
    const seen = refusals.map(({ status, text }) => [status, /role="alert">([^<]*)/.exec(text)?.[1]])
    expect(seen).toEqual([seen[0], seen[0], seen[0]])
    expect(seen[0]?.[0]).toBe(400)
  })

  it('signs in with a phone number', async () => {
    const phone = `49151${randomInt(10_000_000, 99_999_999)}`
    const person = await Person.signUp(stack.authUrl, phone)
    const { browser, page } = await oauth.signInPage()
    const consent = await browser.follow(await signIn(browser, page, `+${phone}`, person.password))
    expect(await approve(browser, consent)).toContain('code=svc_')
  })

  it('asks for the code of an authenticator app', async () => {
    const person = await Person.signUp(stack.authUrl)
    const code = await person.addAuthenticator()
    const { browser, page } = await oauth.signInPage()
    const asked = await browser.follow(await signIn(browser, page, person.email, person.password))
    expect((await browser.submit(asked, '/factor', { code: '000000' })).status).toBe(400)
    const consent = await browser.follow(await browser.submit(asked, '/factor', { code: code() }))
    expect(await approve(browser, consent)).toContain('code=svc_')
  })

  it('sends a code to a phone that is the second factor', async () => {
    const person = await Person.signUp(stack.authUrl)
    await person.addPhone(FACTOR_PHONE, '424242')
    const { browser, page } = await oauth.signInPage()
    const offered = await browser.follow(await signIn(browser, page, person.email, person.password))
    const asked = await browser.follow(await browser.submit(offered, '/challenge'))
    expect((await browser.submit(asked, '/factor', { code: '424243' })).status).toBe(400)
    const consent = await browser.follow(await browser.submit(asked, '/factor', { code: '424242' }))
    expect(await approve(browser, consent)).toContain('code=svc_')
  })

  it('signs in by a link that was emailed', async () => {
    const person = await Person.signUp(stack.authUrl)
    const { browser, page } = await oauth.signInPage()
    const { fields } = formOf(page, '/login')
    await browser.post('/oauth/authorize/mail', { ...fields, identifier: person.email, password: '' })
    const { links } = await inbox.waitForMail({ to: person.email })
    const consent = await comeBack(browser, await visit(links[0] ?? ''))
    expect(consent.text).toContain(person.email)
    expect(await approve(browser, consent)).toContain('code=svc_')
  })

  it('signs in by an external provider; one that the identity server has not switched on is not offered', async () => {
    const { browser, page } = await oauth.signInPage()
    expect(page.text.match(/Continue with \w+/g)).toEqual(['Continue with GitHub'])
    const [, href = ''] = /href="([^"]*provider=github[^"]*)"/.exec(page.text) ?? []
    // The identity server binds the sign-in to this browser by a cookie.
    const departed = await open(href.replaceAll('&#38;', '&'))
    const departure = new URL(departed.headers.get('location') ?? '')
    expect(departure.pathname).toBe('/login/oauth/authorize')
    const answer = new URLSearchParams({ code: 'c', state: departure.searchParams.get('state') ?? '' })
    const consent = await comeBack(
      browser,
      await visit(`${stack.authUrl}/callback?${String(answer)}`, cookiesOf(departed)),
    )
    expect(consent.text).toContain('octo@github.example')
    expect(await approve(browser, consent)).toContain('code=svc_')
  })

  it.each([
    // A ban may be lifted, so it refuses without ending the grant.
    ['banned', (id: string) => admin('PUT', id, { ban_duration: '1h' }), 401],
    ['deleted', (id: string) => admin('DELETE', id), 400],
  ])('refuses the next refresh of a user who was %s', async (_, change, status) => {
    const person = await Person.signUp(stack.authUrl)
    const { client, tokens } = await oauth.connect(person)
    const refreshed = await oauth.refresh(client, tokens.refresh_token)
    expect(refreshed.status).toBe(200)
    await change(person.id)
    expect((await oauth.refresh(client, refreshed.body.refresh_token)).status).toBe(status)
    // Here the identity server tells nobody of bans, so an access token that is out lives on.
    expect(await oauth.works(refreshed.body.access_token)).toBe(status === 401)
  })
})
