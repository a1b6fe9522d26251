import { FormBrowser, type Seen, signInOnPage } from '@signet/testkit'
import type { Harness } from './harness.js'
import { pkce } from './pkce.js'

/** A user who signs in with a password. */
type User = { readonly email: string; readonly password: string }

export type RegisteredClient = {
  client_id: string
  client_secret?: string
  redirect_uris: string[]
  token_endpoint_auth_method: string
}
export type TokenAnswer = {
  access_token: string
  token_type: string
  expires_in: number
  refresh_token: string
  scope: string
  email: string
}
export type OAuthErrorBody = { error: string; error_description: string }
export type Answer<T = Record<string, unknown>> = { status: number; headers: Headers; body: T }

export const REDIRECT = 'http://127.0.0.1:7777/callback'

/** Requests to the OAuth endpoints, spelled out so that a test can change any part. */
export class OAuthTester {
  constructor(readonly harness: Pick<Harness, 'base' | 'origin'>) {}

  async json<T = Record<string, unknown>>(path: string, init: RequestInit = {}): Promise<Answer<T>> {
    const response = await fetch(`${this.harness.base}${path}`, { redirect: 'manual', ...init })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: (text ? JSON.parse(text) : {}) as T }
  }

  register<T = RegisteredClient>(metadata: Record<string, unknown> = {}): Promise<Answer<T>> {
    return this.json<T>('/oauth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        redirect_uris: [REDIRECT],
        token_endpoint_auth_method: 'none',
        client_name: 'Test tool',
        ...metadata,
      }),
    })
  }

  async client(metadata: Record<string, unknown> = {}): Promise<RegisteredClient> {
    return (await this.register(metadata)).body
  }

  /** The URL of a valid authorization request; parameters set to undefined are left out. */
  authorizeUrl(clientId: string, parameters: Record<string, string | undefined> = {}): string {
    const all: Record<string, string | undefined> = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: REDIRECT,
      scope: 'mcp:connect',
      state: 'some state',
      code_challenge: pkce().challenge,
      code_challenge_method: 'S256',
      ...parameters,
    }
    const query = Object.entries(all)
      .filter((entry): entry is [string, string] => entry[1] !== undefined)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join('&')
    return `${this.harness.base}/oauth/authorize?${query}`
  }

  browser(): FormBrowser {
    return new FormBrowser(this.harness.origin)
  }

  /** Follows the redirect to the sign-in page, signs in, and returns the consent page. */
  signIn(browser: FormBrowser, redirect: Seen, user: User): Promise<Seen> {
    return signInOnPage(browser, redirect, user)
  }

  /** The pending authorization that a redirect to the sign-in page is for. */
  txnOf({ location }: Seen): string {
    const state = new URL(new URL(location ?? '').searchParams.get('redirect_to') ?? '').searchParams.get(
      'state',
    )
    return /txn=(\w+)$/.exec(Buffer.from(state ?? '', 'base64url').toString('latin1'))?.[1] ?? ''
  }

  /** Authorizes a client as a user, and returns what its redirect URI gets. */
  async authorize(
    client: RegisteredClient,
    user: User,
    parameters: Record<string, string | undefined> = {},
    /** Appended to the query, for repeated parameters. */
    suffix = '',
  ): Promise<{ code: string; verifier: string; redirect: URL; browser: FormBrowser }> {
    const { verifier, challenge } = pkce()
    const browser = this.browser()
    const redirect_uri = client.redirect_uris[0]
    const url = this.authorizeUrl(client.client_id, {
      redirect_uri,
      code_challenge: challenge,
      ...parameters,
    })
    const consent = await this.signIn(browser, await browser.get(url + suffix), user)
    const answer = await browser.submit(consent, '/decision', { decision: 'approve' })
    const redirect = new URL(answer.location ?? 'missing:')
    return { code: redirect.searchParams.get('code') ?? '', verifier, redirect, browser }
  }

  /** A browser that a new client has sent to sign in. */
  async begun(
    parameters: Record<string, string | undefined> = {},
  ): Promise<{ browser: FormBrowser; redirect: Seen }> {
    const client = await this.client()
    const browser = this.browser()
    return { browser, redirect: await browser.get(this.authorizeUrl(client.client_id, parameters)) }
  }

  /** A browser that has also signed in, and its consent page. */
  async consentPage(user: User): Promise<{ browser: FormBrowser; page: Seen }> {
    const { browser, redirect } = await this.begun()
    return { browser, page: await this.signIn(browser, redirect, user) }
  }

  /** A new client with a code of the user that it has not exchanged yet. */
  async authorized(
    user: User,
    metadata: Record<string, unknown> = {},
    parameters: Record<string, string | undefined> = {},
  ) {
    const client = await this.client(metadata)
    return { client, grant: await this.authorize(client, user, parameters) }
  }

  token<T = TokenAnswer>(
    form: Record<string, string> | URLSearchParams,
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    return this.json<T>('/oauth/token', { method: 'POST', headers, body: new URLSearchParams(form) })
  }

  exchange<T = TokenAnswer>(
    client: RegisteredClient,
    { code, verifier }: { code: string; verifier: string },
    overrides: Record<string, string> = {},
    headers: Record<string, string> = {},
  ): Promise<Answer<T>> {
    return this.token<T>(
      {
        grant_type: 'authorization_code',
        code,
        redirect_uri: client.redirect_uris[0] ?? '',
        code_verifier: verifier,
        ...credentials(client),
        ...overrides,
      },
      headers,
    )
  }

  refresh<T = TokenAnswer>(
    client: RegisteredClient,
    refreshToken: string,
    overrides: Record<string, string> = {},
  ): Promise<Answer<T>> {
    return this.token<T>({
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      ...credentials(client),
      ...overrides,
    })
  }

  /** A client with live tokens of a user. */
  async connect(user: User, metadata: Record<string, unknown> = {}) {
    const client = await this.client(metadata)
    const tokens = (await this.exchange(client, await this.authorize(client, user))).body
    return { client, tokens }
  }

  /** Whether /v1 accepts the token; any path would do. */
  async works(accessToken: string): Promise<boolean> {
    const { status } = await this.json('/v1/webhooks', {
      headers: { authorization: `Bearer ${accessToken}` },
    })
    return status !== 401
  }
}

/** Credentials in the form, as a public client or with client_secret_post. */
export const credentials = (client: RegisteredClient): Record<string, string> => ({
  client_id: client.client_id,
  ...(client.client_secret === undefined ? {} : { client_secret: client.client_secret }),
})
