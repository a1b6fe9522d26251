import { describe, expect, it } from '@jest/globals'
import { REDIRECT, type RegisteredClient } from './support/oauth.js'
import { useOAuth } from './support/use-oauth.js'

const ALLOWED = 'https://app.example/oauth/callback'
const { harness, oauth } = useOAuth({
  env: { WEBHOOKS_OAUTH_REDIRECT_ALLOW_LIST: `${ALLOWED}, https://hosted.example/cb/*` },
})

const refused = async (metadata: Record<string, unknown>) => {
  const { status, body } = await oauth.register<{ error: string; error_description: string }>(metadata)
  return [status, body.error]
}

describe('what a registration answers', () => {
  it('gives a public client no secret members, 201 and no-store', async () => {
    const before = Math.floor(Date.now() / 1000)
    const { status, headers, body } = await oauth.register<Record<string, unknown>>()
    expect(status).toBe(201)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('pragma')).toBe('no-cache')
    expect(body).toEqual({
      client_id: expect.stringMatching(/^svcl_[0-9A-Za-z]{24}$/) as unknown,
      client_id_issued_at: expect.any(Number) as unknown,
      redirect_uris: [REDIRECT],
      client_name: 'Test tool',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'mcp:connect',
    })
    expect(body['client_id_issued_at']).toBeGreaterThanOrEqual(before)
    expect(body['client_id_issued_at']).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000))
  })

  it.each(['client_secret_basic', 'client_secret_post'])(
    'gives a %s client its secret with expires_at 0',
    async (method) => {
      const { body } = await oauth.register<Record<string, unknown>>({ token_endpoint_auth_method: method })
      expect(body).toMatchObject({
        client_secret: expect.stringMatching(/^svs_[0-9A-Za-z]{43}$/) as unknown,
        client_secret_expires_at: 0,
        token_endpoint_auth_method: method,
      })
    },
  )

  it('defaults to client_secret_basic and both grants, and answers no null', async () => {
    const { body } = await oauth.json('/oauth/register', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer ignored' },
      body: JSON.stringify({
        redirect_uris: [REDIRECT],
        logo_uri: '',
        client_uri: null,
        token_endpoint_auth_method: null,
        jwks: {},
        whatever: 1,
      }),
    })
    expect(body).toMatchObject({
      token_endpoint_auth_method: 'client_secret_basic',
      client_name: 'OAuth client',
      grant_types: ['authorization_code', 'refresh_token'],
    })
    expect(Object.values(body)).not.toContain(null)
    expect(Object.keys(body)).not.toEqual(expect.arrayContaining(['logo_uri']))
    expect(body).not.toHaveProperty('jwks')
    expect(body).not.toHaveProperty('registration_access_token')
  })

  it('keeps what it knows of grants, responses and scopes, and echoes descriptive members', async () => {
    const extra = {
      client_uri: 'https://tool.example',
      contacts: ['a@tool.example'],
      software_id: 'tool',
      software_version: '1',
      application_type: 'native',
    }
    const { body } = await oauth.register({
      ...extra,
      grant_types: ['refresh_token', 'authorization_code', 'implicit'],
      response_types: ['code', 'token'],
      scope: 'openid tokens:manage mcp:connect',
    })
    expect(body).toMatchObject({
      ...extra,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      scope: 'mcp:connect',
    })
    expect((await oauth.register({ scope: 'openid' })).body).toMatchObject({ scope: 'mcp:connect' })
  })

  it.each([
    ['an unknown authentication method', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['no usable grant type', { grant_types: ['implicit'] }],
    ['refreshing alone', { grant_types: ['refresh_token'] }],
    ['no usable response type', { response_types: ['token'] }],
    ['a scope that is not a string', { scope: ['mcp:connect'] }],
    ['a name that is too long', { client_name: 'x'.repeat(201) }],
    ['a name that is not a string', { client_name: {} }],
    ['a logo over http', { logo_uri: 'http://tool.example/logo.png' }],
    ['a page after three slashes', { client_uri: 'https:///tool.example' }],
    ['a page with a letter that nobody sees', { client_uri: 'https://tool.example/\u3164' }],
    ['a page with a backslash', { client_uri: 'https://tool.example\\@evil.example' }],
    ['eleven contacts', { contacts: Array.from({ length: 11 }, () => 'a') }],
    ['an unknown application type', { application_type: 'robot' }],
  ])('refuses %s', async (_, metadata) => {
    expect(await refused(metadata)).toEqual([400, 'invalid_client_metadata'])
  })

  it.each([
    ['malformed JSON', '{', 'application/json', 400],
    ['an array', '[]', 'application/json', 400],
    ['a form', 'redirect_uris=x', 'application/x-www-form-urlencoded', 400],
    ['no body', '', 'application/json', 400],
    ['65 KiB', JSON.stringify({ client_name: 'x'.repeat(65 * 1024) }), 'application/json', 413],
  ])('refuses %s as invalid_client_metadata', async (_, body, type, status) => {
    const answer = await oauth.json('/oauth/register', {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    })
    expect([answer.status, answer.body['error']]).toEqual([status, 'invalid_client_metadata'])
  })

  it('answers other methods with 405 and Allow', async () => {
    const { status, headers } = await oauth.json('/oauth/register')
    expect([status, headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('describes errors in the characters that RFC 6749 allows, naming the index', async () => {
    const { body } = await oauth.register<{ error_description: string }>({
      redirect_uris: [REDIRECT, 'myapp://"é\\'],
    })
    expect(body.error_description).toMatch(/^redirect_uris\[1\] [\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  })
})

describe('the allow-list', () => {
  it('refuses an https URI that is not on it, and the whole registration with it', async () => {
    expect(await refused({ redirect_uris: [ALLOWED, 'https://other.example/cb'] })).toEqual([
      400,
      'invalid_redirect_uri',
    ])
    expect((await oauth.register({ redirect_uris: [ALLOWED, REDIRECT] })).status).toBe(201)
  })

  it('shows a page for a client whose URI was taken off the list later', async () => {
    const client = await oauth.client()
    await harness.db.query('update oauth_clients set redirect_uris = $2 where client_id = $1', [
      client.client_id,
      ['https://removed.example/cb'],
    ])
    const url = oauth.authorizeUrl(client.client_id, { redirect_uri: 'https://removed.example/cb' })
    const page = await oauth.browser().get(url)
    expect([page.status, page.location]).toEqual([400, null])
  })
})

describe('refused redirect URIs', () => {
  it.each([
    'myapp://callback',
    'javascript:alert(1)',
    'data:text/html,x',
    'http://example.com/cb',
    'http://127.0.0.1.evil.example/cb',
    'http://localhost@evil.example/cb',
    'http://127.0.0.1@evil.example/cb',
    'http://127.0.0.1:7777\\@evil.example/cb',
    'http://127.0.0.1/cb#fragment',
    'http://2130706433/cb',
    'http://0x7f.1/cb',
    'http://127.1/cb',
    'http://127.0.0.2/cb',
    'https://user:pass@app.example/oauth/callback',
    'https://*.app.example/cb',
    'http://127.0.0.1/cb*',
    'http://127.0.0.1/çb',
    'http://127.0.0.1/c b',
    'http://127.0.0.1/cb?code=1',
    'http://127.0.0.1/cb?x=1&state=2',
    'http://127.0.0.1:99999/cb',
    `http://127.0.0.1/${'x'.repeat(2048)}`,
    'ftp://127.0.0.1/cb',
    '//127.0.0.1/cb',
    'http:///127.0.0.1/cb',
    'https:///app.example/oauth/callback',
    'https://app.exa\tmple/oauth/callback',
    '',
    7,
  ])('%s', async (uri) => {
    expect(await refused({ redirect_uris: [uri] })).toEqual([400, 'invalid_redirect_uri'])
  })

  it.each([
    undefined,
    null,
    'http://127.0.0.1/cb',
    [],
    Array.from({ length: 11 }, (_, i) => `http://127.0.0.1/${i}`),
  ])('a list that is %j', async (redirect_uris) => {
    expect(await refused({ redirect_uris })).toEqual([400, 'invalid_redirect_uri'])
  })

  it('the same one twice', async () => {
    expect(await refused({ redirect_uris: [REDIRECT, REDIRECT] })).toEqual([400, 'invalid_redirect_uri'])
  })
})

describe('matching at the authorization endpoint', () => {
  /** 302 if the redirect URI is accepted: it redirects to the sign-in page. */
  const status = async (client: RegisteredClient, redirect_uri: string) =>
    (await oauth.browser().get(oauth.authorizeUrl(client.client_id, { redirect_uri }))).status

  it.each(['127.0.0.1', 'localhost', '[::1]'])('lets the port of %s vary', async (host) => {
    const client = await oauth.client({ redirect_uris: [`http://${host}:7777/cb`] })
    expect(await status(client, `http://${host}:50123/cb`)).toBe(302)
    expect(await status(client, `http://${host}/cb`)).toBe(302)
  })

  it.each([
    'http://localhost:7777/cb',
    'http://127.0.0.1:7777/cb/',
    'http://127.0.0.1:7777/CB',
    'http://127.0.0.1:7777/cb?x=1',
    'https://127.0.0.1:7777/cb',
    'http://127.0.0.1@evil.example/cb',
    'http://127.0.0.1.evil.example/cb',
    'http://127.0.0.1:7777\\@evil.example/cb',
  ])('shows a page for %s when http://127.0.0.1:7777/cb is registered', async (uri) => {
    expect(await status(await oauth.client({ redirect_uris: ['http://127.0.0.1:7777/cb'] }), uri)).toBe(400)
  })

  it('takes https URIs only as the identical string', async () => {
    const client = await oauth.client({ redirect_uris: [ALLOWED] })
    expect(await status(client, ALLOWED)).toBe(302)
    expect(await status(client, `${ALLOWED}/`)).toBe(400)
    expect(await status(client, ALLOWED.replace('app.', 'APP.'))).toBe(400)
  })
})

describe('a hostile client name', () => {
  it('pushes nothing out of sight with spaces', async () => {
    const client_name = `Editor\u00a0\u3000${'\u3000'.repeat(150)}\u2003.`
    expect((await oauth.register({ client_name })).body).toMatchObject({ client_name: 'Editor .' })
  })

  it('stacks no marks that could cover the rest of the consent page, but as many as words need', async () => {
    const { body } = await oauth.register({ client_name: `Tie\u0302\u0301ng a${'\u0316'.repeat(300)}b` })
    expect(body).toMatchObject({ client_name: `Tie\u0302\u0301ng a${'\u0316'.repeat(4)}b` })
  })

  it('is harmless on the consent page and in the log', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client({ client_name: '<img src=x>"\u202e\u061c\n\u0000evil' })
    const browser = oauth.browser()
    const page = await oauth.signIn(browser, await browser.get(oauth.authorizeUrl(client.client_id)), user)
    expect(page.text).toContain('&#60;img src=x&#62;&#34;evil')
    expect(page.text).not.toContain('<img')
    expect(page.text).not.toMatch(/[\u202e\u061c]/)
    for (const line of harness.logLines) expect(() => JSON.parse(line) as unknown).not.toThrow()
  })
})
