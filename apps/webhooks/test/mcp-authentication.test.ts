import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { aPersonalToken, aToken, userJwt } from './support/access-token.js'
import { useApi } from './support/api.js'
import { SERVICE_TOKEN } from './support/harness.js'
import { callTool, initialize, post, request } from './support/mcp.js'

const FRIEND = 'https://app.example'
const api = useApi({ env: () => ({ WEBHOOKS_V1_CORS_ORIGINS: FRIEND }) })

const CHALLENGE =
  'Bearer realm="webhooks", scope="mcp:connect", resource_metadata="https://hooks.signet.example/.well-known/oauth-protected-resource/mcp"'
const INVALID = CHALLENGE.replace(
  ', scope',
  ', error="invalid_token", error_description="The access token is invalid or has expired", scope',
)

const granted = async (resources: string[]) => {
  const accountId = randomUUID()
  const token = await aToken(api.db, accountId)
  await api.db.query('update oauth_grants set resources = $2 where account_id = $1', [accountId, resources])
  return token
}

describe('authentication of /mcp (docs/specification.md#mcp-transport)', () => {
  type Credential = () => Promise<{ token?: string; headers?: Record<string, string> }>
  it.each<[string, Credential, string]>([
    ['no credential', () => Promise.resolve({}), CHALLENGE],
    ['another scheme', () => Promise.resolve({ headers: { authorization: 'Basic abc' } }), CHALLENGE],
    ['an unknown token', () => Promise.resolve({ token: `sva_${'a'.repeat(43)}` }), INVALID],
    [
      'an expired token',
      async () => ({ token: await aToken(api.db, randomUUID(), { expired: true }) }),
      INVALID,
    ],
    ['a service token', () => Promise.resolve({ token: SERVICE_TOKEN }), INVALID],
    ['a JWT of the identity server', () => Promise.resolve({ token: userJwt(randomUUID()) }), INVALID],
    [
      'a token for another resource server',
      async () => ({ token: await granted(['https://other.example/mcp']) }),
      INVALID,
    ],
    [
      'a token for a resource whose name only begins like ours',
      async () => ({ token: await granted(['https://hooks.signet.example.evil.example/mcp']) }),
      INVALID,
    ],
  ])(
    'is 401 with %s, whatever the body and method, and says where to go',
    async (_, credential, challenge) => {
      const { token = null, headers = {} } = await credential()
      for (const [method, raw] of [
        ['POST', '{'],
        ['POST', JSON.stringify(initialize)],
        ['GET'],
        ['DELETE'],
      ]) {
        const reply = await api.call(method ?? '', '/mcp', {
          token,
          headers,
          ...(raw === undefined ? {} : { raw }),
        })
        expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([401, challenge])
        expect(reply.body).toMatchObject({
          jsonrpc: '2.0',
          id: null,
          error: { data: { code: 'unauthorized' } },
        })
      }
    },
  )

  it('is 403 for a token without the scope', async () => {
    const token = await aToken(api.db, randomUUID(), { scope: 'tokens:manage' })
    const reply = await post(api, initialize, { token })
    expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([
      403,
      expect.stringContaining('error="insufficient_scope"'),
    ])
  })

  it('takes tokens of this service, of /mcp, and personal ones', async () => {
    const accountId = randomUUID()
    const personal = await aPersonalToken(api.db, accountId)
    const ours = await granted(['https://hooks.signet.example/mcp'])
    const both = await granted(['https://other.example', 'https://hooks.signet.example'])
    for (const token of [personal, ours, both])
      expect((await post(api, initialize, { token })).status).toBe(200)
  })

  it('ends with the account: a token that worked is refused in the next call', async () => {
    const { accountId, token } = await api.anAccount()
    expect((await callTool(api, token, 'list_webhooks')).structuredContent).toEqual({ items: [] })
    await api.internal('POST', `/internal/v1/accounts/${accountId}/revoke`, { body: { reason: 'banned' } })
    const reply = await post(api, request('tools/call', { name: 'list_webhooks' }), { token })
    expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([401, INVALID])
  })
})

describe('the origin of a browser', () => {
  it.each(['https://evil.example', 'null', 'https://hooks.signet.example.evil.example', `${FRIEND}:8443`])(
    'is refused before the token is looked at: %s',
    async (origin) => {
      const { token } = await api.anAccount()
      for (const method of ['POST', 'GET', 'OPTIONS']) {
        const body = method === 'POST' ? { body: initialize } : {}
        const reply = await api.call(method, '/mcp', { token, headers: { origin }, ...body })
        expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([403, null])
      }
    },
  )

  it('may be our own or a listed one, which also gets the headers it needs', async () => {
    const { token } = await api.anAccount()
    const own = { origin: 'https://hooks.signet.example' }
    expect((await post(api, initialize, { token, headers: own })).status).toBe(200)
    const reply = await post(api, initialize, { token, headers: { origin: FRIEND } })
    expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([200, FRIEND])
    const preflight = await fetch(`${api.url}/mcp`, { method: 'OPTIONS', headers: { origin: FRIEND } })
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      expect.stringContaining('MCP-Protocol-Version'),
    ])
  })
})
