import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { OAuthTester } from './support/oauth.js'
import { startHarness, type Harness } from './support/harness.js'
import { useOAuth } from './support/use-oauth.js'

const { harness, oauth } = useOAuth()

describe('metadata', () => {
  it('holds exactly the documented members, with the issuer spelled the same everywhere', async () => {
    const { base } = harness
    const { status, body, headers } = await oauth.json('/.well-known/oauth-authorization-server')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    expect(headers.get('cache-control')).toBe('public, max-age=300')
    expect(body).toEqual({
      issuer: base,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      registration_endpoint: `${base}/oauth/register`,
      revocation_endpoint: `${base}/oauth/revoke`,
      scopes_supported: ['mcp:connect'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      authorization_response_iss_parameter_supported: true,
      protected_resources: [base],
    })
  })

  it('names as resource the identifier whose document was asked for', async () => {
    const { base } = harness
    const root = await oauth.json('/.well-known/oauth-protected-resource')
    expect(root.body).toEqual({
      resource: base,
      authorization_servers: [base],
      scopes_supported: ['mcp:connect'],
      bearer_methods_supported: ['header'],
      resource_name: 'Recording events API',
    })
    const v1 = await oauth.json('/.well-known/oauth-protected-resource/v1')
    expect(v1.body).toEqual({ ...root.body, resource: `${base}/v1` })
    const mcp = await oauth.json('/.well-known/oauth-protected-resource/mcp')
    expect(mcp.body).toEqual({ ...root.body, resource: `${base}/mcp` })
  })
})

describe('a forged Host or X-Forwarded-Host', () => {
  // fetch would not let us forge Host.
  const forged = (path: string) =>
    new Promise<{ text: string; headers: string }>((resolve, reject) => {
      const headers = {
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
      }
      httpRequest(`${harness.base}${path}`, { headers }, (res) => {
        let text = ''
        res.on('data', (chunk) => (text += String(chunk)))
        res.on('end', () => resolve({ text, headers: JSON.stringify(res.headers) }))
      })
        .on('error', reject)
        .end()
    })

  it('changes nothing in any document, redirect or header', async () => {
    const client = await oauth.client()
    const paths = [
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource',
      '/v1/webhooks',
      oauth.authorizeUrl(client.client_id).slice(harness.base.length),
      oauth.authorizeUrl(client.client_id, { response_type: 'token' }).slice(harness.base.length),
    ]
    for (const path of paths) {
      const { text, headers } = await forged(path)
      expect(text + headers).not.toContain('evil.example')
    }
  })
})

describe('challenges and unknown well-known documents', () => {
  const challenge = (error = '') =>
    `Bearer realm="webhooks", ${error}scope="mcp:connect", resource_metadata="${harness.base}/.well-known/oauth-protected-resource"`

  it.each([undefined, 'Basic abc', 'Token abc'])('asks for a Bearer token on %s', async (authorization) => {
    const { status, headers, body } = await oauth.json('/v1/webhooks', {
      headers: authorization === undefined ? {} : { authorization },
    })
    expect([status, headers.get('www-authenticate')]).toEqual([401, challenge()])
    expect(body).toEqual({ error: { code: 'unauthorized', message: expect.any(String) as unknown } })
  })

  it.each([
    '',
    'sva_unknown',
    'a b',
    'x'.repeat(513),
    'ümlaut',
    'svp_0123456789ABCDEFGHIJKLMNOPQRST0Yllhu',
    '"',
  ])('says invalid_token for the token %s', async (token) => {
    const { status, headers } = await oauth.json('/v1/webhooks', {
      headers: { authorization: `bearer ${Buffer.from(token).toString('latin1')}`.trim() },
    })
    const invalid = 'error="invalid_token", error_description="The access token is invalid or has expired", '
    expect([status, headers.get('www-authenticate')]).toEqual([401, challenge(invalid)])
  })

  it('answers 401 before it says anything about paths, methods or bodies', async () => {
    const asked = await Promise.all([
      oauth.json('/v1/nothing'),
      oauth.json('/v1/webhooks', { method: 'PUT' }),
      oauth.json('/v1/webhooks', {
        method: 'POST',
        body: '{',
        headers: { 'content-type': 'application/json' },
      }),
    ])
    expect(asked.map(({ status, headers }) => [status, headers.get('allow')])).toEqual([
      [401, null],
      [401, null],
      [401, null],
    ])
  })

  it.each(['openid-configuration', 'oauth-authorization-server/x', 'oauth-protected-resource/v2', 'x'])(
    'answers 404 as JSON for /.well-known/%s',
    async (suffix) => {
      const { status, headers, body } = await oauth.json(`/.well-known/${suffix}`)
      expect([status, body['error']]).toEqual([404, 'not_found'])
      expect(headers.get('content-type')).toMatch(/^application\/json/)
    },
  )
})

describe('CORS', () => {
  const PUBLIC = [
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/v1',
    '/oauth/register',
    '/oauth/token',
    '/oauth/revoke',
  ]

  it.each(PUBLIC)('lets a browser preflight %s', async (path) => {
    const { status, headers } = await oauth.json(path, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization, mcp-protocol-version',
      },
    })
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-allow-credentials')).toBeNull()
    expect(headers.get('access-control-allow-methods')).toBe('GET, POST, OPTIONS')
    expect(headers.get('access-control-allow-headers')).toBe(
      'Authorization, Content-Type, MCP-Protocol-Version',
    )
    expect(headers.get('access-control-max-age')).toBe('7200')
  })

  it('is there on 400, 401 and 405 answers too', async () => {
    const answers = await Promise.all([
      oauth.register({ redirect_uris: [] }),
      oauth.token({ client_id: 'svcl_unknown', grant_type: 'refresh_token' }),
      oauth.json('/oauth/token'),
    ])
    expect(
      answers.map(({ status, headers }) => [status, headers.get('access-control-allow-origin')]),
    ).toEqual([
      [400, '*'],
      [401, '*'],
      [405, '*'],
    ])
    for (const { headers } of answers)
      expect(headers.get('access-control-expose-headers')).toBe('WWW-Authenticate, Retry-After')
  })

  it.each(['/oauth/authorize', '/sign-out', '/oauth/introspect', '/account/tokens', '/v1/webhooks'])(
    'is absent on %s',
    async (path) => {
      for (const method of ['GET', 'OPTIONS']) {
        const { headers } = await oauth.json(path, {
          method,
          headers: { origin: 'https://app.example', accept: 'application/json' },
        })
        expect(headers.get('access-control-allow-origin')).toBeNull()
      }
    },
  )
})

describe('a base URL with a path', () => {
  let deep: Harness
  beforeAll(async () => {
    deep = await startHarness({ basePath: '/hooks/api' })
  })
  afterAll(() => deep.close())

  it('serves each document in both forms, byte for byte the same', async () => {
    const text = async (url: string) => {
      const response = await fetch(url)
      return [response.status, await response.text()]
    }
    const { base, origin } = deep
    expect(base).toBe(`${origin}/hooks/api`)
    const pairs = [
      [
        `${base}/.well-known/oauth-authorization-server`,
        `${origin}/.well-known/oauth-authorization-server/hooks/api`,
      ],
      [
        `${base}/.well-known/oauth-protected-resource`,
        `${origin}/.well-known/oauth-protected-resource/hooks/api`,
      ],
      [
        `${base}/.well-known/oauth-protected-resource/v1`,
        `${origin}/.well-known/oauth-protected-resource/hooks/api/v1`,
      ],
    ]
    for (const [own = '', inserted = ''] of pairs) {
      expect((await text(own))[0]).toBe(200)
      expect(await text(inserted)).toEqual(await text(own))
    }
  })

  it('runs the whole flow below that path', async () => {
    const tester = new OAuthTester(deep)
    const user = deep.identity.addUser()
    const { tokens } = await tester.connect(user)
    expect(await tester.works(tokens.access_token)).toBe(true)
    expect((await fetch(`${deep.origin}/oauth/token`, { method: 'POST' })).status).toBe(404)
  })
})
