import { describe, expect, it } from '@jest/globals'
import type { Seen } from '@signet/testkit'
import { REDIRECT } from './support/oauth.js'
import { useOAuth } from './support/use-oauth.js'

const HTTPS_REDIRECT = 'https://app.example/cb?tenant=a%20b&x=%7e'
const { harness, oauth } = useOAuth({
  env: {
    WEBHOOKS_OAUTH_REDIRECT_ALLOW_LIST: HTTPS_REDIRECT,
    WEBHOOKS_OAUTH_RESOURCES: 'https://mcp.example/server',
  },
})

type Parameters = Record<string, string | undefined>

/** Sends an authorization request from a browser without a session. */
async function ask(parameters: Parameters, suffix = '', metadata = {}) {
  const client = await oauth.client(metadata)
  return oauth.browser().get(oauth.authorizeUrl(client.client_id, parameters) + suffix)
}

/** Whether the request was accepted, and so redirects to the sign-in page. */
const leadsToSignIn = ({ location }: Seen) => location?.startsWith(`${harness.identity.url}/ui?`)

async function redirected(parameters: Parameters, suffix = '') {
  const { status, location } = await ask(parameters, suffix)
  const query = location === null ? null : new URL(location).searchParams
  return { status, location, error: query?.get('error'), state: query?.get('state'), iss: query?.get('iss') }
}

describe('errors before the redirect URI is trusted', () => {
  it.each([
    ['no client_id', { client_id: undefined }, '', 'invalid_request'],
    ['an unknown client', { client_id: 'svcl_unknown' }, '', 'invalid_client'],
    ['a malformed client id', { client_id: "svcl_'\u0000" }, '', 'invalid_client'],
    ['client_id twice', {}, '&client_id=svcl_other', 'invalid_request'],
    ['an unregistered redirect URI', { redirect_uri: 'http://127.0.0.1/other' }, '', 'invalid_request'],
    ['redirect_uri twice', {}, `&redirect_uri=${encodeURIComponent(REDIRECT)}`, 'invalid_request'],
  ])('show a page without Location for %s', async (_, parameters, suffix, error) => {
    const client = await oauth.client()
    const url = oauth.authorizeUrl(client.client_id, parameters) + suffix
    const page = await oauth.browser().get(url)
    expect([page.status, page.location]).toEqual([400, null])
    expect(page.headers.get('content-type')).toMatch(/^text\/html/)
    const json = await oauth.browser().get(url, { accept: 'application/json' })
    expect([json.status, json.location, JSON.parse(json.text)]).toEqual([
      400,
      null,
      { error, error_description: expect.any(String) as unknown },
    ])
  })

  it.each([
    ['text/html', /^text\/html/],
    ['*/*', /^text\/html/],
    ['application/json, text/html;q=0.1', /^text\/html/],
    ['application/json', /^application\/json/],
    ['image/png', /^application\/json/],
  ])('are HTML only when Accept allows it: %s', async (accept, type) => {
    const { headers } = await oauth.browser().get(oauth.authorizeUrl('svcl_unknown'), { accept })
    expect(headers.get('content-type')).toMatch(type)
  })

  it('tell the user of an unknown client to add the connection again', async () => {
    const page = await oauth.browser().get(oauth.authorizeUrl('svcl_unknown'))
    expect(page.text).toMatch(/Remove the connection .* add it again/)
  })

  it('show a page for a disabled client', async () => {
    const client = await oauth.client()
    await harness.db.query('update oauth_clients set disabled_at = now() where client_id = $1', [
      client.client_id,
    ])
    const page = await oauth.browser().get(oauth.authorizeUrl(client.client_id))
    expect([page.status, page.location]).toEqual([400, null])
  })

  it('need redirect_uri only when several are registered', async () => {
    const two = { redirect_uris: [REDIRECT, 'http://127.0.0.1/other'] }
    expect(leadsToSignIn(await ask({ redirect_uri: undefined }))).toBe(true)
    expect((await ask({ redirect_uri: undefined }, '', two)).status).toBe(400)
  })

  it('answer POST with 405', async () => {
    const { status, headers } = await oauth.json('/oauth/authorize', {
      method: 'POST',
      headers: { accept: 'application/json' },
    })
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})

describe('errors that go to the client, with state and iss', () => {
  it.each([
    ['a missing response_type', { response_type: undefined }, '', 'invalid_request'],
    ['response_type=token', { response_type: 'token' }, '', 'unsupported_response_type'],
    ['response_mode=fragment', {}, '&response_mode=fragment', 'invalid_request'],
    ['a missing challenge', { code_challenge: undefined }, '', 'invalid_request'],
    ['a challenge of 42 characters', { code_challenge: 'a'.repeat(42) }, '', 'invalid_request'],
    ['a challenge of 44 characters', { code_challenge: 'a'.repeat(44) }, '', 'invalid_request'],
    ['a challenge with padding', { code_challenge: `${'a'.repeat(42)}=` }, '', 'invalid_request'],
    ['a missing challenge method', { code_challenge_method: undefined }, '', 'invalid_request'],
    ['the method plain', { code_challenge_method: 'plain' }, '', 'invalid_request'],
    ['a repeated parameter', {}, '&scope=mcp:connect', 'invalid_request'],
    ['a request object', {}, '&request=eyJ', 'request_not_supported'],
    ['a request URI', {}, '&request_uri=https://x.example', 'request_uri_not_supported'],
    ['a malformed scope', { scope: 'mcp:connect "' }, '', 'invalid_scope'],
    ['a foreign resource', {}, '&resource=https://evil.example', 'invalid_target'],
    [
      'one foreign resource of two',
      {},
      '&resource=https://mcp.example/server&resource=https://e.example',
      'invalid_target',
    ],
    ['prompt=none without a session', {}, '&prompt=none', 'login_required'],
    ['prompt=none with another', {}, '&prompt=none+login', 'invalid_request'],
    ['a max_age that is no number', {}, '&max_age=-1', 'invalid_request'],
  ])('for %s', async (_, parameters, suffix, error) => {
    expect(await redirected(parameters, suffix)).toMatchObject({
      status: 302,
      error,
      state: 'some state',
      iss: harness.base,
    })
  })

  it('for prompt=none with a session: consent is never implied', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client()
    const { browser } = await oauth.authorize(client, user)
    const { location } = await browser.get(`${oauth.authorizeUrl(client.client_id)}&prompt=none`)
    expect(new URL(location ?? '').searchParams.get('error')).toBe('consent_required')
  })

  it('for a state that is too long', async () => {
    expect(leadsToSignIn(await ask({ state: 'x'.repeat(8192) }))).toBe(true)
    expect(await redirected({ state: 'x'.repeat(8193) })).toMatchObject({ error: 'invalid_request' })
  })

  it('are no-store and carry no referrer', async () => {
    const { headers } = await ask({ response_type: 'token' })
    expect([headers.get('cache-control'), headers.get('referrer-policy')]).toEqual([
      'no-store',
      'no-referrer',
    ])
  })
})

describe('resource indicators (RFC 8707)', () => {
  it.each(['', '/', '/v1', '/v1/', '/v1/webhooks?x=1'])('accept the own origin with %s', async (path) => {
    expect(leadsToSignIn(await ask({ resource: `${harness.base}${path}` }))).toBe(true)
  })

  it.each(['https://mcp.example/server', 'https://mcp.example/server/'])(
    'accept %s from the list',
    async (resource) => {
      expect(leadsToSignIn(await ask({ resource }))).toBe(true)
    },
  )

  it.each([
    'https://mcp.example/server/x',
    'https://mcp.example',
    'nonsense',
    '/v1',
    '{own}#x',
    'http://a@{host}/',
    'http:///{host}/',
    'http://{host}\\',
  ])('refuse %s', async (template) => {
    const resource = template.replace('{own}', harness.base).replace('{host}', new URL(harness.base).host)
    expect(await redirected({ resource })).toMatchObject({ error: 'invalid_target' })
  })
})

describe('scopes', () => {
  const granted = async (scope: string | undefined) => {
    const user = harness.identity.addUser()
    const client = await oauth.client()
    const { body } = await oauth.exchange(client, await oauth.authorize(client, user, { scope }))
    return body.scope
  }

  it('drops unknown ones, and tokens:manage of an ordinary client', async () => {
    expect(await granted('openid mcp:connect tokens:manage mcp:connect')).toBe('mcp:connect')
  })

  it('means the registered ones when omitted', async () => {
    expect(await granted(undefined)).toBe('mcp:connect')
  })

  it.each(['openid', 'tokens:manage'])('refuses %s alone', async (scope) => {
    expect(await redirected({ scope })).toMatchObject({ error: 'invalid_scope' })
  })
})

describe('the redirect', () => {
  it('keeps the query of the redirect URI byte for byte', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client({ redirect_uris: [HTTPS_REDIRECT] })
    const browser = oauth.browser()
    const url = oauth.authorizeUrl(client.client_id, { redirect_uri: HTTPS_REDIRECT, state: undefined })
    const consent = await oauth.signIn(browser, await browser.get(url), user)
    const { status, location } = await browser.submit(consent, '/decision', { decision: 'approve' })
    expect(status).toBe(303)
    expect(location?.startsWith(`${HTTPS_REDIRECT}&code=svc_`)).toBe(true)
    expect(new URL(location ?? '').searchParams.has('state')).toBe(false)
  })

  it.each(['with spaces', 'a+b', 'a&b=c', 'zażółć 😀', '%2B%', '\'"<>'])(
    'returns the state %s unchanged',
    async (state) => {
      expect(await redirected({ state, response_type: 'token' })).toMatchObject({ state })
    },
  )

  it('does not echo an empty state', async () => {
    const { location } = await redirected({ state: '', response_type: 'token' })
    expect(location).not.toContain('state')
  })

  it('brings the code and the exact issuer after approval, access_denied after denial', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client()
    const { browser, redirect } = await oauth.authorize(client, user)
    expect([...redirect.searchParams.keys()]).toEqual(['code', 'state', 'iss'])
    const consent = await browser.get(oauth.authorizeUrl(client.client_id))
    const denied = await browser.submit(consent, '/decision', { decision: 'deny' })
    expect(denied.status).toBe(303)
    const parameters = new URL(denied.location ?? '').searchParams
    expect([parameters.get('error'), parameters.get('iss'), parameters.get('code')]).toEqual([
      'access_denied',
      harness.base,
      null,
    ])
  })
})
