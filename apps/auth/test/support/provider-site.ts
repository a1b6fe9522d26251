import { expect } from '@jest/globals'
import { randomUUID } from 'node:crypto'
import type { Ports } from '../../src/context.js'
import { get, post, type ApiAnswer, type Json } from './api.js'
import {
  comeBack,
  cookiesOf,
  keepCookie,
  providerEnv,
  startFakeProvider,
  targetOf,
  type FakeProvider,
  type Target,
} from './fake-provider.js'
import { startServer, type TestServer } from './server.js'

/** The outcome of a sign-in with an address that GitHub does not vouch for. */
export const NOT_LET_IN = {
  error: 'access_denied',
  error_code: 'provider_email_needs_verification',
  error_description: expect.stringContaining('Unverified email with GitHub.') as unknown,
}

export type Email = { email: string; verified?: boolean; primary?: boolean }

/** A service with GitHub and Figma switched on, and what they say about every visitor. */
export type ProviderSite = {
  provider: FakeProvider
  server: TestServer
  /** Sets what GitHub says: an account may have many addresses, each verified or not. */
  github(id: string, ...emails: Email[]): void
  /** Sets what Figma says: one address, verified. */
  figma(id: string, email?: string): void
  close(): Promise<void>
}

export async function startProviderSite(
  env: Record<string, string> = {},
  ports: Partial<Ports> = {},
): Promise<ProviderSite> {
  const tokens = { access_token: 'the-token', refresh_token: 'the-refresh-token' }
  const provider = await startFakeProvider({
    'POST /login/oauth/access_token': { body: tokens },
    'POST /v1/oauth/token': { body: tokens },
  })
  const server = await startServer(
    {
      ...providerEnv('github', provider.url),
      ...providerEnv('figma', provider.url),
      AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
      AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
      ...env,
    },
    ports,
  )
  return {
    provider,
    server,
    github(id, ...emails) {
      provider.answer('GET /api/v3/user', { body: { id, login: `login-${id}`, name: `Name ${id}` } })
      const body = emails.map((entry) => ({ verified: true, primary: true, ...entry }))
      provider.answer('GET /api/v3/user/emails', { body })
    },
    figma: (id, email) => provider.answer('GET /v1/me', { body: { id, email, handle: 'Fig' } }),
    async close() {
      await server.close()
      await provider.close()
    },
  }
}

export const anId = () => randomUUID()

export const identitiesOf = (user: Json): unknown[] =>
  (user['identities'] as Json[]).map(({ provider }) => provider).sort()

/** Asks the API where a browser must go to add a sign-in method. Returns the path below the server's URL. */
export async function linkAddress(
  server: TestServer,
  token: string,
  provider: string,
  parameters: Record<string, string> = {},
): Promise<string> {
  const query = String(new URLSearchParams({ provider, skip_http_redirect: 'true', ...parameters }))
  const { body } = await get(server, `/user/identities/authorize?${query}`, { token })
  return String(body['url']).replace(server.context.config.apiExternalUrl, '')
}

/** The hidden fields of a page. */
export const formOf = ({ text }: ApiAnswer): URLSearchParams =>
  new URLSearchParams(
    [...text.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']): [string, string] => [
      name,
      value,
    ]),
  )

/** Agrees on the page that asks for confirmation, and returns where it sends the browser. */
export async function confirmLink(
  server: TestServer,
  address: string,
): Promise<{ location: URL; state: string; cookie: string }> {
  const page = await get(server, address)
  const answer = await post(server, '/authorize/confirm', String(formOf(page)), {
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', cookie: cookiesOf(page) },
  })
  const cookie = cookiesOf(answer)
  const state = /signet_flow_([\w-]+)/.exec(cookie)?.[1] ?? ''
  keepCookie(state, answer)
  return { location: new URL(answer.headers.get('location') ?? 'about:blank'), state, cookie }
}

/** Links an account at a provider to the bearer of `token`, as a client does. */
export async function link(
  server: TestServer,
  token: string,
  provider: string,
  headers?: Record<string, string>,
): Promise<Target> {
  const { state } = await confirmLink(server, await linkAddress(server, token, provider))
  return targetOf(await comeBack(server, { code: 'the-code', state }, headers))
}

/** The actions of a user in the audit log, in alphabetical order. */
export async function auditOf(server: TestServer, userId: unknown): Promise<string[]> {
  const { rows } = await server.context.db.query<{ action: string }>(
    `select payload ->> 'action' as action from audit_log_entries
     where payload ->> 'actor_id' = $1`,
    [userId],
  )
  return rows.map(({ action }) => action).sort()
}
