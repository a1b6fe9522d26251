import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { OAuthTester, type RegisteredClient } from './support/oauth.js'
import { startHarness, type Harness } from './support/harness.js'

const CLIENT_ID = 'svcl_resourceserver'
const RESOURCE = 'https://mcp.example/server'
let harness: Harness
let oauth: OAuthTester
let server: RegisteredClient
beforeAll(async () => {
  harness = await startHarness({
    env: {
      WEBHOOKS_OAUTH_INTROSPECTION_CLIENTS: CLIENT_ID,
      WEBHOOKS_OAUTH_RESOURCES: RESOURCE,
      WEBHOOKS_SERVICE_DOCUMENTATION: 'https://developers.example/webhooks',
    },
  })
  oauth = new OAuthTester(harness)
  server = await oauth.client({ token_endpoint_auth_method: 'client_secret_basic' })
  await harness.db.query('update oauth_clients set client_id = $2 where client_id = $1', [
    server.client_id,
    CLIENT_ID,
  ])
  server.client_id = CLIENT_ID
})
afterAll(() => harness.close())

const introspect = (client: RegisteredClient, token: string) => {
  const credentials = Buffer.from(`${client.client_id}:${client.client_secret ?? ''}`).toString('base64')
  return oauth.json('/oauth/introspect', {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ token }),
  })
}

describe('introspection', () => {
  it('describes a live access token, with the resources it is for', async () => {
    const user = harness.identity.addUser()
    const client = await oauth.client()
    const grant = await oauth.authorize(client, user, { resource: RESOURCE })
    const { access_token, refresh_token } = (await oauth.exchange(client, grant)).body
    const { status, body } = await introspect(server, access_token)
    expect([status, body]).toEqual([
      200,
      {
        active: true,
        scope: 'mcp:connect',
        client_id: client.client_id,
        sub: user.id,
        iss: harness.base,
        aud: [RESOURCE],
        exp: Number(body['iat']) + 3600,
        iat: expect.any(Number) as unknown,
        token_type: 'Bearer',
      },
    ])
    expect((await introspect(server, refresh_token)).body).toEqual({ active: false })
    expect(await oauth.works(access_token)).toBe(false)
  })

  it('names a resource as the operator does, however the client wrote it', async () => {
    const client = await oauth.client()
    const resource = `${RESOURCE.replace('https://mcp', 'HTTPS://MCP')}/`
    const grant = await oauth.authorize(client, harness.identity.addUser(), { resource })
    const { access_token } = (await oauth.exchange(client, grant)).body
    expect((await introspect(server, access_token)).body['aud']).toEqual([RESOURCE])
  })

  it('describes a personal token, without a client', async () => {
    const user = harness.identity.addUser()
    const { body } = await oauth.json<{ token: string }>('/account/tokens', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${harness.identity.jwtFor(user)}`,
        'content-type': 'application/json',
      },
      body: '{"name":"x"}',
    })
    const described = (await introspect(server, body.token)).body
    expect(described).toMatchObject({ active: true, sub: user.id, aud: [harness.base], scope: 'mcp:connect' })
    expect(described).not.toHaveProperty('client_id')
  })

  it('says no more than inactive for everything else', async () => {
    const { client, tokens } = await oauth.connect(harness.identity.addUser())
    await oauth.json('/oauth/revoke', {
      method: 'POST',
      body: new URLSearchParams({ token: tokens.access_token, client_id: client.client_id }),
    })
    for (const token of [tokens.access_token, 'nonsense', `sva_${'a'.repeat(43)}`, "'\u0000"])
      expect((await introspect(server, token)).body).toEqual({ active: false })
  })

  it('is for listed confidential clients only', async () => {
    const stranger = await oauth.client({ token_endpoint_auth_method: 'client_secret_basic' })
    const answers = [
      await introspect(stranger, 'x'),
      await introspect({ ...server, client_secret: 'wrong' }, 'x'),
      await introspect(await oauth.client(), 'x'),
    ]
    for (const { status, body } of answers) expect([status, body['error']]).toEqual([401, 'invalid_client'])
  })

  it('is in the metadata when it is on, as is a page for developers', async () => {
    const { body } = await oauth.json('/.well-known/oauth-authorization-server')
    expect(body).toMatchObject({
      introspection_endpoint: `${harness.base}/oauth/introspect`,
      introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      service_documentation: 'https://developers.example/webhooks',
    })
  })
})

describe('a token for several resources', () => {
  it('works here only when this service is one of them', async () => {
    const client = await oauth.client()
    const user = harness.identity.addUser()
    const foreign = await oauth.authorize(client, user, { resource: RESOURCE })
    expect(await oauth.works((await oauth.exchange(client, foreign)).body.access_token)).toBe(false)
    const both = await oauth.authorize(client, user, { resource: RESOURCE }, `&resource=${harness.base}/v1`)
    const tokens = (await oauth.exchange(client, both)).body
    expect(await oauth.works(tokens.access_token)).toBe(true)
    const resource = RESOURCE
    const narrowed = (await oauth.refresh(client, tokens.refresh_token, { resource })).body
    expect(await oauth.works(narrowed.access_token)).toBe(false)
    expect((await introspect(server, narrowed.access_token)).body).toMatchObject({ aud: [resource] })
    const wide = (await oauth.refresh(client, narrowed.refresh_token)).body
    expect(await oauth.works(wide.access_token)).toBe(true)
  })

  it('is for those that the token request names, of all that were granted', async () => {
    const client = await oauth.client()
    const user = harness.identity.addUser()
    const named = async (resource: string) => {
      const both = await oauth.authorize(client, user, { resource: RESOURCE }, `&resource=${harness.base}/v1`)
      return (await oauth.exchange(client, both, { resource })).body.access_token
    }
    const foreign = await named(RESOURCE)
    expect([await oauth.works(foreign), (await introspect(server, foreign)).body['aud']]).toEqual([
      false,
      [RESOURCE],
    ])
    expect(await oauth.works(await named(`${harness.base}/v1`))).toBe(true)
  })
})
