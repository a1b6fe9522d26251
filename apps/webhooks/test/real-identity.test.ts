import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomInt } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startInbox, type Inbox } from '@signet/testkit/inbox'
import { type FormBrowser, Person, phoneSettings, type Seen, startStack, type Stack } from '@signet/testkit'
import { OAuthTester } from './support/oauth.js'

// Tests sign-in through the identity server of this product, with both services as built. Other services are real (email) or speak the
// real protocol (GitHub). Only CAPTCHA is missing, because the identity server calls its providers at fixed addresses.
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
        // These tests check what a refresh asks the identity server, so no event may report a ban first.
        AUTH_EVENTS_URL: '',
        AUTH_EVENTS_SECRET: '',
        ...phoneSettings(FACTOR_PHONE, '424242'),
        AUTH_ALLOW_PRIVATE_PROVIDER_URLS: 'true',
        AUTH_EXTERNAL_GITHUB_ENABLED: 'true',
        AUTH_EXTERNAL_GITHUB_CLIENT_ID: 'client-id',
        AUTH_EXTERNAL_GITHUB_SECRET: 'client-secret',
        AUTH_EXTERNAL_GITHUB_REDIRECT_URI: 'https://auth.example/callback',
        AUTH_EXTERNAL_GITHUB_URL: gitHubUrl,
      },
      webhooks: { WEBHOOKS_RATE_LIMITS_ENABLED: 'false' },
    },
  })
  oauth = new OAuthTester({ base: stack.webhooksUrl, origin: stack.webhooksUrl })
})
afterAll(async () => {
  await stack?.close()
  github.close()
  await inbox.close()
})

/** Stands in for a GitHub Enterprise server with one person, who always agrees. */
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

/** Follows the redirect to the sign-in page, and submits its form. */
async function signIn(browser: FormBrowser, redirect: Seen, identifier: string, password: string) {
  return browser.submit(await browser.follow(redirect), '/ui/sign-in', { identifier, password })
}

/** Approves, and returns the URL with which the application's redirect URI is called. */
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

describe('with the real identity server', () => {
  it('signs in with an email address or a phone number', async () => {
    const phone = `49151${randomInt(10_000_000, 99_999_999)}`
    const people = [await Person.signUp(stack.authUrl), await Person.signUp(stack.authUrl, phone)]
    for (const person of people) {
      const identifier = person.phone === '' ? person.email : `+${phone}`
      const { browser, redirect } = await oauth.begun()
      const consent = await browser.settle(await signIn(browser, redirect, identifier, person.password))
      expect(await approve(browser, consent)).toContain('code=svc_')
    }
  })

  it('has the second factor asked for on the sign-in page, once', async () => {
    const person = await Person.signUp(stack.authUrl)
    const code = await person.addAuthenticator()
    const { browser, redirect } = await oauth.begun()
    const asked = await browser.settle(await signIn(browser, redirect, person.email, person.password))
    expect(new URL(asked.url).pathname).toBe('/ui/factor')
    expect((await browser.submit(asked, '/factor', { code: '000000' })).status).toBe(422)
    const consent = await browser.settle(await browser.submit(asked, '/factor', { code: code() }))
    expect(await approve(browser, consent)).toContain('code=svc_')
  })

  it('does not take a code that was had without the second factor', async () => {
    const person = await Person.signUp(stack.authUrl)
    await person.addAuthenticator()
    const { browser, redirect } = await oauth.begun()
    // A thief who can read the mailbox asks the API for a link, with the challenge and the redirect address of our request.
    const wanted = new URL(redirect.location ?? '').searchParams
    const challenge = { code_challenge: wanted.get('code_challenge'), code_challenge_method: 's256' }
    const query = new URLSearchParams({ redirect_to: wanted.get('redirect_to') ?? '' })
    await fetch(`${stack.authUrl}/otp?${String(query)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: person.email, ...challenge }),
    })
    const { links } = await inbox.waitForMail({ to: person.email })
    const answer = await browser.settle(await browser.get(links[0] ?? ''))
    expect([new URL(answer.url).pathname, answer.status]).toEqual(['/sign-in/callback', 400])
    expect(answer.text).toContain('second factor')
  })

  it('signs in by a link that was emailed', async () => {
    const person = await Person.signUp(stack.authUrl)
    const { browser, redirect } = await oauth.begun()
    const page = await browser.follow(redirect)
    await browser.submit(page, '/ui/mail', { identifier: person.email, password: '' })
    const { links } = await inbox.waitForMail({ to: person.email })
    // The page of the link asks first, because mail scanners open links, too.
    const question = await browser.settle(await browser.get(links[0] ?? ''))
    const consent = await browser.settle(await browser.submit(question, '/ui/link'))
    expect(consent.text).toContain(person.email)
    expect(await approve(browser, consent)).toContain('code=svc_')
  })

  it('signs in by an external provider', async () => {
    const { browser, redirect } = await oauth.begun()
    const page = await browser.follow(redirect)
    const departure = await browser.submit(page, '/ui/provider', { provider: 'github' })
    const { pathname, searchParams } = new URL(departure.location ?? '')
    expect(pathname).toBe('/login/oauth/authorize')
    const answer = new URLSearchParams({ code: 'c', state: searchParams.get('state') ?? '' })
    const consent = await browser.settle(await browser.get(`${stack.authUrl}/callback?${String(answer)}`))
    expect(consent.text).toContain('octo@github.example')
    expect(await approve(browser, consent)).toContain('code=svc_')
  })

  it('signs out here and, after a question, at the sign-in page', async () => {
    const person = await Person.signUp(stack.authUrl)
    const { browser, redirect } = await oauth.begun()
    await browser.settle(await signIn(browser, redirect, person.email, person.password))
    const question = await browser.settle(await browser.submit(await browser.get('/'), '/sign-out'))
    expect(new URL(question.url).pathname).toBe('/ui/sign-out')
    const out = await browser.settle(await browser.submit(question, '/ui/sign-out'))
    expect([out.url, out.text.includes(person.email)]).toEqual([`${stack.webhooksUrl}/`, false])
    // Nobody is signed in there either: the page asks for a password, not for a click.
    const again = await browser.settle(await browser.get('/sign-in'))
    expect(again.text).toContain('name="password"')
  })

  it('lets nobody in who was banned between the sign-in page and the way back', async () => {
    const person = await Person.signUp(stack.authUrl)
    const { browser, redirect } = await oauth.begun()
    const answer = await signIn(browser, redirect, person.email, person.password)
    await admin('PUT', person.id, { ban_duration: '1h' })
    const refused = await browser.settle(answer)
    expect([new URL(refused.url).pathname, refused.status]).toEqual(['/sign-in/callback', 400])
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
    // The service was not notified of the ban, so an issued access token stays valid.
    expect(await oauth.works(refreshed.body.access_token)).toBe(status === 401)
  })
})
