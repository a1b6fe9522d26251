import { createHash, randomBytes } from 'node:crypto'
import type { Request } from 'express'
import { TOTP } from 'otpauth'
import { expect } from '@jest/globals'
import { leasePort } from '@signet/local'
import { FormBrowser, type Seen, type SoftwareAuthenticator } from '@signet/testkit'
import type { Ports } from '../../src/context.js'
import { BrowserState } from '../../src/ui/context/browser-state.js'
import { outcome } from '../../src/ui/context/outcome.js'
import { aUser, PASSWORD, post, type Json, type SignedUp } from '../support/api.js'
import { PASSKEY_ENVIRONMENT } from '../support/passkeys.js'
import { startServer, type TestServer } from '../support/server.js'

/** A page of an application. Nothing listens there in tests without a real browser. */
export const APPLICATION = 'https://other.example.com/signed-in'

/** The service with its pages. Its links contain its address, so the port must be known before it listens. */
export async function startUi(
  env: Record<string, string> = {},
  ports: Partial<Ports> = {},
): Promise<TestServer> {
  const port = await leasePort()
  return startServer(
    {
      AUTH_API_PORT: String(port),
      AUTH_API_EXTERNAL_URL: `http://127.0.0.1:${port}`,
      AUTH_URI_ALLOW_LIST: 'https://other.example.com/**,http://127.0.0.1:*/**,com.example.app://**',
      ...env,
    },
    ports,
  )
}

/** Settings for the service at `localhost`, because passkeys do not work for an IP address. */
export async function onLocalhost(): Promise<{ site: string; env: Record<string, string> }> {
  const port = await leasePort()
  const site = `http://localhost:${port}`
  const { AUTH_MAILER_AUTOCONFIRM: _, ...keys } = PASSKEY_ENVIRONMENT
  const addresses = { AUTH_API_PORT: String(port), AUTH_API_EXTERNAL_URL: site, AUTH_SITE_URL: site }
  return { site, env: { ...keys, ...addresses } }
}

/** Like `call`, waits for the messages that a request causes. */
export const aBrowser = (server: TestServer, headers: Record<string, string> = {}) =>
  new FormBrowser(server.url, headers, async (url, init) => {
    const response = await fetch(url, init)
    await server.settled()
    return response
  })

export const uiPath = (query: Record<string, string> = {}, below = ''): string =>
  `/ui${below}${Object.keys(query).length > 0 ? `?${String(new URLSearchParams(query))}` : ''}`

/** Opens the page and sends its sign-in form. */
export async function signIn(
  browser: FormBrowser,
  { email, password }: { email: string; password: string },
  query: Record<string, string> = {},
): Promise<Seen> {
  const page = await browser.get(uiPath(query))
  return browser.submit(page, '/ui/sign-in', { identifier: email, password })
}

/** Follows redirects while they stay on the pages. */
export async function settle(browser: FormBrowser, seen: Seen): Promise<Seen> {
  let shown = seen
  while (shown.location !== null && new URL(shown.location, browser.origin).pathname.startsWith('/ui'))
    shown = await browser.follow(shown)
  return shown
}

/** Opens an emailed link, and returns the page that it shows before it is used. */
export const openLink = async (browser: FormBrowser, link: string): Promise<Seen> =>
  settle(browser, await browser.get(link))

/** Opens an emailed link and presses the button of its page. */
export const followLink = async (browser: FormBrowser, link: string): Promise<Seen> =>
  settle(browser, await browser.submit(await openLink(browser, link), '/ui/link'))

/** Sends a form and returns the page that it leads to. */
export const submitted = async (
  browser: FormBrowser,
  page: Seen,
  action: string,
  fields: Record<string, string> = {},
): Promise<Seen> => settle(browser, await browser.submit(page, action, fields))

export function pkce() {
  const verifier = randomBytes(32).toString('base64url')
  return {
    verifier,
    query: {
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 's256',
    },
  }
}

export const fragmentOf = (seen: Seen): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(new URL(seen.location ?? '').hash.slice(1)))

/** The query of a page that says what a form in this browser has just done. */
export function outcomeQuery({ context }: TestServer, browser: FormBrowser, done: string): string {
  const { pageKey: key, cookies, now } = context
  const state = new BrowserState({ key, cookies, now })
  const sent = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const known = state.find({ get: () => sent } as unknown as Request)
  if (known === null) throw new Error('this browser has not opened a page yet')
  return `?${String(new URLSearchParams(outcome({ state, now }, known, done)))}`
}

export const noticeOf = (seen: Seen): string | undefined =>
  /role="alert"[^>]*>\s*([^<]*?)\s*</.exec(seen.text)?.[1]

export type WithFactor = SignedUp & { factorId: string; code(): string }

/** A user with an authenticator app. */
export async function aUserWithTotp(server: TestServer): Promise<WithFactor> {
  const user = await aUser(server)
  const token = user.access_token
  const enrolled = await post(server, '/factors', { factor_type: 'totp', friendly_name: 'my app' }, { token })
  const { id, totp } = enrolled.body as Json & { id: string; totp: { secret: string } }
  const code = () => new TOTP({ secret: totp.secret }).generate({ timestamp: server.clock.now().getTime() })
  const challenge = await post(server, `/factors/${id}/challenge`, {}, { token })
  const answer = { challenge_id: challenge.body['id'], code: code() }
  expect((await post(server, `/factors/${id}/verify`, answer, { token })).status).toBe(200)
  // A code works once.
  server.clock.advance(30_000)
  return { ...user, password: PASSWORD, factorId: id, code }
}

/** The options with which the page asks the browser for a passkey or a security key. */
export const optionsOn = (page: Seen) =>
  JSON.parse(
    (/data-options="([^"]*)"/.exec(page.text)?.[1] ?? '').replace(/&#(\d+);/g, (_, code: string) =>
      String.fromCharCode(Number(code)),
    ),
  ) as Parameters<SoftwareAuthenticator['create']>[0]
