import { describe, expect, it } from '@jest/globals'
import { auth as authV1, extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js'
import { auth as authV2 } from '@modelcontextprotocol/client'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { McpProvider } from './support/mcp-provider.js'
import { REDIRECT } from './support/oauth.js'
import { useOAuth } from './support/use-oauth.js'

// Runs the MCP SDKs and OAuth libraries as they ship, unchanged, against the running service.
const { harness, oauth } = useOAuth()

const METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const
type Method = (typeof METHODS)[number]

/** Signs in and approves on the pages, and returns the URL with which the client's redirect URI is called. */
async function approve(url: URL | undefined): Promise<URL> {
  const user = harness.identity.addUser()
  const browser = oauth.browser()
  const consent = await oauth.signIn(browser, await browser.get(url?.href ?? ''), user)
  const { location } = await browser.submit(consent, '/decision', { decision: 'approve' })
  return new URL(location ?? '')
}

/** Revokes as RFC 7009 says, with what the SDK stored: neither generation of the MCP SDKs has a call for revocation. */
async function revokeAsHost({ information, stored }: McpProvider): Promise<void> {
  const secret = information?.['client_secret']
  const { status } = await oauth.json('/oauth/revoke', {
    method: 'POST',
    body: new URLSearchParams({
      token: stored?.refresh_token ?? '',
      client_id: information?.client_id ?? '',
      ...(typeof secret === 'string' ? { client_secret: secret } : {}),
    }),
  })
  expect(status).toBe(200)
  expect(await oauth.works(stored?.access_token ?? '')).toBe(false)
}

describe('@modelcontextprotocol/sdk 1.x', () => {
  const run = (
    provider: McpProvider,
    options: { serverUrl: string; authorizationCode?: string; resourceMetadataUrl?: URL },
  ) => authV1(provider, options)

  it.each<[string, Record<string, unknown>]>([
    ...METHODS.map((method): [string, Record<string, unknown>] => [
      method,
      { token_endpoint_auth_method: method },
    ]),
    ['the default method', {}],
  ])(
    'discovers from the challenge, registers, authorizes, exchanges and refreshes with %s',
    async (_, metadata) => {
      const provider = new McpProvider({ redirect_uris: [REDIRECT], client_name: 'MCP host', ...metadata })
      const serverUrl = `${harness.base}/v1/webhooks`
      const { resourceMetadataUrl } = extractWWWAuthenticateParams(await fetch(serverUrl))
      const where = { serverUrl, ...(resourceMetadataUrl ? { resourceMetadataUrl } : {}) }
      expect(await run(provider, where)).toBe('REDIRECT')
      const callback = await approve(provider.authorizationUrl)
      expect(callback.searchParams.get('state')).toBe('state-of-the-host')
      const authorizationCode = callback.searchParams.get('code') ?? ''
      expect(await run(provider, { ...where, authorizationCode })).toBe('AUTHORIZED')
      const first = provider.stored
      expect(await oauth.works(first?.access_token ?? '')).toBe(true)
      expect(await run(provider, where)).toBe('AUTHORIZED')
      expect(provider.stored?.refresh_token).not.toBe(first?.refresh_token)
      expect(await oauth.works(provider.stored?.access_token ?? '')).toBe(true)
      expect(provider.forgotten).toEqual([])
      await revokeAsHost(provider)
      expect(await run(provider, where)).toBe('REDIRECT')
    },
  )

  it('starts over when its refresh token is refused, and when its client is unknown', async () => {
    const provider = new McpProvider({ redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' })
    const where = { serverUrl: harness.base }
    await run(provider, where)
    provider.stored = {
      access_token: 'sva_x',
      token_type: 'Bearer',
      refresh_token: 'svr_x',
      issuer: harness.base,
    }
    expect(await run(provider, where)).toBe('REDIRECT')
    expect(provider.forgotten).toEqual(['tokens'])
    provider.information = { ...provider.information, client_id: 'svcl_unknown', redirect_uris: [REDIRECT] }
    provider.stored = {
      access_token: 'sva_x',
      token_type: 'Bearer',
      refresh_token: 'svr_x',
      issuer: harness.base,
    }
    expect(await run(provider, where)).toBe('REDIRECT')
    expect(provider.information.client_id).not.toBe('svcl_unknown')
  })
})

describe('@modelcontextprotocol/client 2.x', () => {
  const run = (
    provider: McpProvider,
    options: { serverUrl: string; authorizationCode?: string; iss?: string },
  ) => authV2(provider, options)

  it.each(METHODS)(
    'registers, authorizes with iss, exchanges and refreshes with %s, keeping its discovery',
    async (method) => {
      const provider = new McpProvider({ redirect_uris: [REDIRECT], token_endpoint_auth_method: method })
      const where = { serverUrl: `${harness.base}/v1` }
      expect(await run(provider, where)).toBe('REDIRECT')
      const { searchParams } = await approve(provider.authorizationUrl)
      const answer = { authorizationCode: searchParams.get('code') ?? '', iss: searchParams.get('iss') ?? '' }
      expect(await run(provider, { ...where, ...answer })).toBe('AUTHORIZED')
      expect(provider.discovery).toBeDefined()
      const first = provider.stored?.refresh_token
      expect(await run(provider, where)).toBe('AUTHORIZED')
      expect(provider.stored?.refresh_token).not.toBe(first)
      expect(await oauth.works(provider.stored?.access_token ?? '')).toBe(true)
      await revokeAsHost(provider)
    },
  )

  it('refuses an issuer that is not exactly ours', async () => {
    const provider = new McpProvider({ redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' })
    const where = { serverUrl: harness.base }
    await run(provider, where)
    const { searchParams } = await approve(provider.authorizationUrl)
    const authorizationCode = searchParams.get('code') ?? ''
    await expect(run(provider, { ...where, authorizationCode, iss: `${harness.base}/` })).rejects.toThrow(
      /iss/i,
    )
    expect(await run(provider, { ...where, authorizationCode, iss: harness.base })).toBe('AUTHORIZED')
  })
})

describe('oauth4webapi', () => {
  const insecure = { [oauth4webapi.allowInsecureRequests]: true }

  async function register(method: Method) {
    const issuer = new URL(harness.base)
    const as = await oauth4webapi.processDiscoveryResponse(
      issuer,
      await oauth4webapi.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
    )
    const metadata = { redirect_uris: [REDIRECT], token_endpoint_auth_method: method }
    const client = await oauth4webapi.processDynamicClientRegistrationResponse(
      await oauth4webapi.dynamicClientRegistrationRequest(as, metadata, insecure),
    )
    return { as, client }
  }

  const clientAuth = (method: Method, secret: unknown) => {
    if (method === 'none') return oauth4webapi.None()
    return method === 'client_secret_basic'
      ? oauth4webapi.ClientSecretBasic(String(secret))
      : oauth4webapi.ClientSecretPost(String(secret))
  }

  it.each(METHODS)(
    'discovers, registers, authorizes, exchanges, refreshes and revokes with %s',
    async (method) => {
      const { as, client } = await register(method)
      const authentication = clientAuth(method, client.client_secret)
      const verifier = oauth4webapi.generateRandomCodeVerifier()
      const url = new URL(as.authorization_endpoint ?? '')
      url.search = new URLSearchParams({
        client_id: client.client_id,
        redirect_uri: REDIRECT,
        response_type: 'code',
        code_challenge: await oauth4webapi.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).toString()
      const parameters = oauth4webapi.validateAuthResponse(
        as,
        client,
        await approve(url),
        oauth4webapi.expectNoState,
      )
      const tokens = await oauth4webapi.processAuthorizationCodeResponse(
        as,
        client,
        await oauth4webapi.authorizationCodeGrantRequest(
          as,
          client,
          authentication,
          parameters,
          REDIRECT,
          verifier,
          insecure,
        ),
      )
      expect(await oauth.works(tokens.access_token)).toBe(true)
      const refreshed = await oauth4webapi.processRefreshTokenResponse(
        as,
        client,
        await oauth4webapi.refreshTokenGrantRequest(
          as,
          client,
          authentication,
          tokens.refresh_token ?? '',
          insecure,
        ),
      )
      const revocation = await oauth4webapi.revocationRequest(
        as,
        client,
        authentication,
        refreshed.refresh_token ?? '',
        insecure,
      )
      await oauth4webapi.processRevocationResponse(revocation)
      expect(await oauth.works(refreshed.access_token)).toBe(false)
    },
  )

  it('reads our errors: a wrong secret as a challenge, a denial as access_denied', async () => {
    const { as, client } = await register('client_secret_basic')
    const wrong = oauth4webapi.ClientSecretBasic('wrong_secret-with-characters')
    const response = await oauth4webapi.refreshTokenGrantRequest(as, client, wrong, 'svr_x', insecure)
    await expect(oauth4webapi.processRefreshTokenResponse(as, client, response)).rejects.toMatchObject({
      cause: [{ parameters: { error: 'invalid_client' } }],
    })
    const denied = new URL(`${REDIRECT}?error=access_denied&iss=${encodeURIComponent(harness.base)}`)
    expect(() => oauth4webapi.validateAuthResponse(as, client, denied, oauth4webapi.expectNoState)).toThrow(
      expect.objectContaining({ error: 'access_denied' }),
    )
  })
})

describe('openid-client', () => {
  const options: openid.DiscoveryRequestOptions = {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  }

  it.each<[string, Method, (secret: string) => openid.ClientAuth | undefined]>([
    ['none', 'none', () => openid.None()],
    ['client_secret_basic', 'client_secret_basic', openid.ClientSecretBasic],
    ['client_secret_post', 'client_secret_post', openid.ClientSecretPost],
    ['a bare secret, its own default', 'client_secret_basic', () => undefined],
  ])('discovers, authorizes, exchanges, refreshes and revokes with %s', async (_, method, authentication) => {
    const registered = await oauth.client({ token_endpoint_auth_method: method })
    const secret = registered.client_secret ?? ''
    const config = await openid.discovery(
      new URL(harness.base),
      registered.client_id,
      method === 'none' ? undefined : secret,
      authentication(secret),
      options,
    )
    const verifier = openid.randomPKCECodeVerifier()
    const state = openid.randomState()
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT,
      scope: 'mcp:connect',
      state,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    const tokens = await openid.authorizationCodeGrant(config, await approve(url), {
      pkceCodeVerifier: verifier,
      expectedState: state,
    })
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(await oauth.works(refreshed.access_token)).toBe(true)
    await openid.tokenRevocation(config, refreshed.refresh_token ?? '')
    expect(await oauth.works(refreshed.access_token)).toBe(false)
  })

  it.each(METHODS)('registers by itself with %s', async (method) => {
    const config = await openid.dynamicClientRegistration(
      new URL(harness.base),
      { redirect_uris: [REDIRECT], token_endpoint_auth_method: method },
      method === 'none' ? openid.None() : undefined,
      options,
    )
    expect(config.clientMetadata().client_id).toMatch(/^svcl_/)
  })
})
