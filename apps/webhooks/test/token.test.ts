import { describe, expect, it } from '@jest/globals'
import { pkce } from './support/pkce.js'
import { credentials, REDIRECT, type OAuthErrorBody } from './support/oauth.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

const user = () => harness.identity.addUser()

const authorized = (metadata: Record<string, unknown> = {}, parameters = {}) =>
  oauth.authorized(user(), metadata, parameters)

describe('form of requests and answers', () => {
  it('is no-store on success and on errors', async () => {
    const { client, grant } = await authorized()
    const good = await oauth.exchange(client, grant)
    const bad = await oauth.exchange(client, grant)
    for (const { headers } of [good, bad]) {
      expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache'])
      expect(headers.get('content-type')).toMatch(/^application\/json/)
    }
  })

  it.each([
    ['JSON instead of a form', '{"grant_type":"refresh_token"}', 'application/json', 400, 'invalid_request'],
    ['no content type', 'grant_type=refresh_token', 'text/plain', 400, 'invalid_request'],
    [
      'a repeated parameter',
      'client_id=svcl_a&client_id=svcl_b',
      'application/x-www-form-urlencoded',
      400,
      'invalid_request',
    ],
    ['17 KiB', `code=${'x'.repeat(17 * 1024)}`, 'application/x-www-form-urlencoded', 413, 'invalid_request'],
    ['nothing', '', 'application/x-www-form-urlencoded', 400, 'invalid_request'],
  ])('refuses %s', async (_, body, type, status, error) => {
    const answer = await oauth.json('/oauth/token', {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
    expect([answer.status, answer.body['error']]).toEqual([status, error])
  })

  it('takes a charset, a trailing slash and no redirect', async () => {
    const { client, grant } = await authorized()
    const answer = await oauth.json('/oauth/token/', {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: client.client_id,
        code: grant.code,
        code_verifier: grant.verifier,
        redirect_uri: REDIRECT,
      }).toString(),
    })
    expect(answer.status).toBe(200)
  })

  it('answers GET with 405, a missing and an unknown grant type with their errors', async () => {
    const client = await oauth.client()
    expect((await oauth.json('/oauth/token')).status).toBe(405)
    const missing = await oauth.token<OAuthErrorBody>(credentials(client))
    const unknown = await oauth.token<OAuthErrorBody>({ ...credentials(client), grant_type: 'password' })
    expect([missing.body.error, unknown.body.error]).toEqual(['invalid_request', 'unsupported_grant_type'])
  })

  it('has an empty email when the account has none', async () => {
    const nameless = harness.identity.addUser({ email: '', phone: '+4915100000000' })
    const client = await oauth.client()
    const browser = oauth.browser()
    const { verifier, challenge } = pkce()
    const start = await browser.get(oauth.authorizeUrl(client.client_id, { code_challenge: challenge }))
    const consent = await oauth.signIn(browser, start, { ...nameless, email: nameless.phone })
    const { location } = await browser.submit(consent, '/decision', { decision: 'approve' })
    const code = new URL(location ?? '').searchParams.get('code') ?? ''
    expect((await oauth.exchange(client, { code, verifier })).body.email).toBe('')
  })
})

describe('what a dump of the database holds', () => {
  it('no code, token of any kind, client secret or session id', async () => {
    const client = await oauth.client({ token_endpoint_auth_method: 'client_secret_post' })
    const grant = await oauth.authorize(client, user())
    const { body } = await oauth.exchange(client, grant)
    const personal = await oauth.json<{ token: string }>('/account/tokens', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${harness.identity.jwtFor(user())}`,
        'content-type': 'application/json',
      },
      body: '{"name":"x"}',
    })
    const tables = [
      'oauth_clients',
      'oauth_authorizations',
      'oauth_grants',
      'oauth_codes',
      'oauth_access_tokens',
      'oauth_refresh_tokens',
      'login_sessions',
      'personal_tokens',
    ]
    const dump: string[] = []
    for (const table of tables) {
      const { rows } = await harness.db.query<{ row: string }>(`select t::text as row from ${table} t`)
      dump.push(...rows.map(({ row }) => row))
    }
    const text = dump.join('\n')
    const hex = (secret: string) => Buffer.from(secret).toString('hex')
    const session = grant.browser.cookies.get('signet_session') ?? ''
    for (const secret of [
      client.client_secret ?? '',
      grant.code,
      body.access_token,
      body.refresh_token,
      personal.body.token,
      session,
    ]) {
      expect(secret.length).toBeGreaterThan(20)
      expect(text).not.toContain(secret)
      expect(text).not.toContain(hex(secret))
    }
  })
})
