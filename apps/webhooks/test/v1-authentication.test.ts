import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { aToken, userJwt } from './support/access-token.js'
import { createEndpoint } from './support/api-data.js'
import { useApi } from './support/api.js'
import { SERVICE_TOKEN } from './support/harness.js'

const api = useApi()

const CHALLENGE =
  'Bearer realm="webhooks", scope="mcp:connect", resource_metadata="https://hooks.signet.example/.well-known/oauth-protected-resource"'
const INVALID = CHALLENGE.replace(
  ', scope',
  ', error="invalid_token", error_description="The access token is invalid or has expired", scope',
)

const routes = (id: string) =>
  [
    ['POST', '/v1/webhooks'],
    ['GET', '/v1/webhooks'],
    ['PATCH', `/v1/webhooks/${id}`],
    ['DELETE', `/v1/webhooks/${id}`],
    ['POST', `/v1/webhooks/${id}/test`],
    ['GET', `/v1/webhooks/${id}/deliveries`],
    ['GET', '/v1/webhook-events/samples'],
  ] as const

/** Calls every route with a malformed body and query, which an answer to an unauthenticated caller must not mention. */
async function everywhere(credential: { token?: string; headers?: Record<string, string> }) {
  const { id } = await createEndpoint(api, (await api.anAccount()).token)
  return Promise.all(
    routes(id).map(([method, path]) =>
      api.call(method, `${path}?page=x&limit=x`, {
        ...credential,
        ...(method === 'POST' || method === 'PATCH' ? { raw: '{' } : {}),
      }),
    ),
  )
}

const revoked = async () => {
  const accountId = randomUUID()
  const token = await aToken(api.db, accountId)
  await api.internal('POST', `/internal/v1/accounts/${accountId}/revoke`, { body: { reason: 'banned' } })
  return token
}

describe('every /v1 route', () => {
  type Credential = () => Promise<Parameters<typeof everywhere>[0]>
  it.each<[string, Credential, string]>([
    ['no credential', () => Promise.resolve({}), CHALLENGE],
    ['another scheme', () => Promise.resolve({ headers: { authorization: 'Basic abc' } }), CHALLENGE],
    ['an empty token', () => Promise.resolve({ headers: { authorization: 'Bearer ' } }), INVALID],
    ['a malformed token', () => Promise.resolve({ token: 'a b"c' }), INVALID],
    ['a token of 513 characters', () => Promise.resolve({ token: 'a'.repeat(513) }), INVALID],
    ['an unknown token', () => Promise.resolve({ token: `sva_${'a'.repeat(43)}` }), INVALID],
    [
      'an expired token',
      async () => Promise.resolve({ token: await aToken(api.db, randomUUID(), { expired: true }) }),
      INVALID,
    ],
    ['a service token', () => Promise.resolve({ token: SERVICE_TOKEN }), INVALID],
    ['a JWT of the identity server', () => Promise.resolve({ token: userJwt(randomUUID()) }), INVALID],
    ['a revoked token', async () => Promise.resolve({ token: await revoked() }), INVALID],
  ])('is 401 with %s, whatever the body and query', async (_, credential, challenge) => {
    const call = await credential()
    for (const reply of await everywhere(call)) {
      expect([reply.status, reply.body]).toEqual([
        401,
        { error: { code: 'unauthorized', message: expect.any(String) as unknown } },
      ])
      expect(reply.headers.get('www-authenticate')).toBe(challenge)
    }
  })

  it('is 403 for a token without the scope', async () => {
    const token = await aToken(api.db, randomUUID(), { scope: 'tokens:manage' })
    for (const reply of await everywhere({ token })) {
      expect([reply.status, reply.body]).toMatchObject([403, { error: { code: 'forbidden' } }])
      expect(reply.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    }
  })

  it('takes the scheme in any case, and no token from the query', async () => {
    const { token } = await api.anAccount()
    const headers = { authorization: `bEARER ${token}` }
    expect((await api.call('GET', '/v1/webhooks', { headers })).status).toBe(200)
    expect((await api.call('GET', `/v1/webhooks?access_token=${token}`)).status).toBe(401)
  })

  it('hides from unauthenticated callers which paths and methods exist', async () => {
    expect((await api.call('PUT', '/v1/webhooks')).status).toBe(401)
    expect((await api.call('GET', '/v1/nothing')).status).toBe(401)
    const undecodable = await api.call('DELETE', '/v1/webhooks/%ff')
    expect([undecodable.status, undecodable.headers.get('www-authenticate')]).toEqual([401, CHALLENGE])
  })
})
