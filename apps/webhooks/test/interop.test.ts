import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { newSigningSecret, type DeliveryId } from '@signet/webhook-core'
import { deliveryHeaders } from '@signet/webhook-core/signature'
import { AuthorizationCode } from 'simple-oauth2'
import { pkce } from './support/pkce.js'
import { REDIRECT } from './support/oauth.js'
import { hasModules, programEnv, python, succeeds } from '@signet/testkit/programs'
import { PYTHON_FOLDER, talkTo } from './support/programs.js'
import { useOAuth } from './support/use-oauth.js'

// Runs third-party clients in several languages, unchanged, against the running service. `real-clients.test.ts` has the clients that
// this service was made for. Clients that the machine lacks are skipped; `npm run interop` fetches them first where it can.
const { harness, oauth } = useOAuth()

const GO = fileURLToPath(new URL('interop/go', import.meta.url))
const RUST = fileURLToPath(new URL('interop/rust', import.meta.url))
const withModules = (...modules: string[]) => (hasModules(...modules) ? it : it.skip)
const withGoPackage = (path: string) =>
  succeeds('go', ['build', '-o', '/dev/null', path], GO) ? it : it.skip

/** Signs in and approves on the pages, and returns the URL with which the client's redirect URI is called. */
async function approve(url: string): Promise<string> {
  const browser = oauth.browser()
  const consent = await oauth.signIn(browser, await browser.get(url), harness.identity.addUser())
  const { location } = await browser.submit(consent, '/decision', { decision: 'approve' })
  return location ?? ''
}

type Said = { url?: string; access_token?: string; refresh_token?: string; revoked?: boolean }

const talk = (command: string, args: string[], cwd: string) => talkTo<Required<Said>>(command, args, cwd).ask

const METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const

async function given(method: (typeof METHODS)[number]): Promise<string> {
  const { client_id, client_secret } = await oauth.client({ token_endpoint_auth_method: method })
  return JSON.stringify({ issuer: harness.base, client_id, client_secret, redirect_uri: REDIRECT, method })
}

describe('Authlib', () => {
  const test = withModules('authlib', 'requests')
  test.each(METHODS)('authorizes with PKCE, exchanges, refreshes and revokes with %s', async (method) => {
    const ask = talk(python, ['authlib_client.py', await given(method)], PYTHON_FOLDER)
    const { url } = await ask()
    const first = await ask(await approve(url))
    expect(await oauth.works(first.access_token)).toBe(true)
    const second = await ask('')
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(await oauth.works(second.access_token)).toBe(true)
    expect(await ask('')).toEqual({ revoked: true })
    expect(await oauth.works(second.access_token)).toBe(false)
  })
})

describe('golang.org/x/oauth2', () => {
  const test = withGoPackage('./oauth2')
  test.each(METHODS)('authorizes with PKCE, exchanges and refreshes with %s', async (method) => {
    const ask = talk('go', ['run', './oauth2', await given(method)], GO)
    const { url } = await ask()
    const first = await ask(await approve(url))
    expect(await oauth.works(first.access_token)).toBe(true)
    const second = await ask('')
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(await oauth.works(second.access_token)).toBe(true)
  })
})

describe('simple-oauth2', () => {
  it.each([
    ['client_secret_basic', 'header'],
    ['client_secret_post', 'body'],
  ] as const)('authorizes, exchanges, refreshes and revokes with %s', async (method, authorizationMethod) => {
    const registered = await oauth.client({ token_endpoint_auth_method: method })
    const client = new AuthorizationCode({
      client: { id: registered.client_id, secret: registered.client_secret ?? '' },
      auth: {
        tokenHost: harness.base,
        tokenPath: '/oauth/token',
        authorizePath: '/oauth/authorize',
        revokePath: '/oauth/revoke',
      },
      options: { authorizationMethod },
    })
    const { verifier, challenge } = pkce()
    const url = client.authorizeURL({
      redirect_uri: REDIRECT,
      scope: 'mcp:connect',
      state: 'some state',
      ...{ code_challenge: challenge, code_challenge_method: 'S256' },
    })
    const code = new URL(await approve(url)).searchParams.get('code') ?? ''
    const first = await client.getToken({ code, redirect_uri: REDIRECT, ...{ code_verifier: verifier } })
    expect(await oauth.works(String(first.token['access_token']))).toBe(true)
    const second = await first.refresh()
    expect(second.token['refresh_token']).not.toBe(first.token['refresh_token'])
    // Revokes the access token first, and the refresh token only if it understood the first answer.
    await second.revokeAll()
    expect(await oauth.works(String(second.token['access_token']))).toBe(false)
    await expect(second.refresh()).rejects.toThrow('400')
  })
})

type Case = { secret: string; headers: Record<string, string>; body: string }

/** Deliveries as they are sent, and three that are not: another body, another secret, and one from long ago. */
function deliveries(): { cases: Case[]; verdicts: string[] } {
  const [secret, nextSecret] = [newSigningSecret(), newSigningSecret()]
  const body = JSON.stringify({ id: 'evt_1', type: 'webhook.ping', data: { name: 'Zoë – 会議 😀' } })
  const signed = (ageSeconds = 0) => ({
    ...deliveryHeaders({
      secret,
      nextSecret,
      body,
      timestamp: Math.floor(Date.now() / 1000) - ageSeconds,
      deliveryId: '981' as DeliveryId,
      eventId: `evt_${'0'.repeat(32)}`,
      eventType: 'webhook.ping',
    }),
  })
  return {
    cases: [
      { secret, headers: signed(), body },
      { secret: nextSecret, headers: signed(), body },
      { secret, headers: signed(), body: `${body} ` },
      { secret: newSigningSecret(), headers: signed(), body },
      { secret, headers: signed(3600), body },
    ],
    verdicts: ['accepted', 'accepted', 'refused', 'refused', 'refused'],
  }
}

function checkVerdicts(command: string, args: string[], cwd: string) {
  const { cases, verdicts } = deliveries()
  const { stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: programEnv,
    encoding: 'utf8',
    input: JSON.stringify(cases),
  })
  expect({ stderr, verdicts: stdout.trim().split(/\s+/) }).toEqual({ stderr: '', verdicts })
}

describe('standardwebhooks for Python', () => {
  const test = withModules('standardwebhooks')
  test('takes deliveries with either secret and refuses forged and old ones', () => {
    checkVerdicts(python, ['standardwebhooks_verify.py'], PYTHON_FOLDER)
  })
})

describe('standardwebhooks for Go', () => {
  const test = withGoPackage('./standardwebhooks')
  test('takes deliveries with either secret and refuses forged and old ones', () => {
    checkVerdicts('go', ['run', './standardwebhooks'], GO)
  })
})

describe('standardwebhooks for Rust', () => {
  const test = succeeds('cargo', ['build', '--quiet', '--offline', '--locked'], RUST) ? it : it.skip
  test('takes deliveries with either secret and refuses forged and old ones', () => {
    checkVerdicts('cargo', ['run', '--quiet', '--offline', '--locked'], RUST)
  })
})
