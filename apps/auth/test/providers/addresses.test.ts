import { describe, expect, it } from '@jest/globals'
import { definitions, providers, type Provider } from '../../src/providers/definitions/index.js'
import type { ProviderDefinition, ProviderSettings } from '../../src/providers/model/provider.js'
import { endpointBelow } from '../../src/providers/provider-registry.js'
import { depart, providerEnv } from '../support/fake-provider.js'
import { startServer } from '../support/server.js'

type Addresses = { authorize: string; token: string; profile: string[] }

const REALM = 'https://id.example.com/realms/main'

/**
 * The real addresses (docs/specification.md#providers). Only this test checks them, because all others replace them with a local server's.
 */
const addresses: Record<Provider, Addresses> = {
  apple: {
    authorize: 'https://appleid.apple.com/auth/authorize',
    token: 'https://appleid.apple.com/auth/token',
    profile: [],
  },
  azure: {
    authorize: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    profile: [],
  },
  bitbucket: {
    authorize: 'https://bitbucket.org/site/oauth2/authorize',
    token: 'https://bitbucket.org/site/oauth2/access_token',
    profile: ['https://api.bitbucket.org/2.0/user', 'https://api.bitbucket.org/2.0/user/emails'],
  },
  discord: {
    authorize: 'https://discord.com/api/oauth2/authorize',
    token: 'https://discord.com/api/oauth2/token',
    profile: ['https://discord.com/api/users/@me'],
  },
  facebook: {
    authorize: 'https://www.facebook.com/dialog/oauth',
    token: 'https://graph.facebook.com/oauth/access_token',
    profile: ['https://graph.facebook.com/me'],
  },
  figma: {
    authorize: 'https://www.figma.com/oauth',
    token: 'https://api.figma.com/v1/oauth/token',
    profile: ['https://api.figma.com/v1/me'],
  },
  github: {
    authorize: 'https://github.com/login/oauth/authorize',
    token: 'https://github.com/login/oauth/access_token',
    profile: ['https://api.github.com/user', 'https://api.github.com/user/emails'],
  },
  gitlab: {
    authorize: 'https://gitlab.com/oauth/authorize',
    token: 'https://gitlab.com/oauth/token',
    profile: ['https://gitlab.com/api/v4/user', 'https://gitlab.com/api/v4/user/emails'],
  },
  google: {
    authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
    token: 'https://oauth2.googleapis.com/token',
    profile: ['https://www.googleapis.com/oauth2/v3/userinfo'],
  },
  keycloak: {
    authorize: `${REALM}/protocol/openid-connect/auth`,
    token: `${REALM}/protocol/openid-connect/token`,
    profile: [`${REALM}/protocol/openid-connect/userinfo`],
  },
  linkedin: {
    authorize: 'https://www.linkedin.com/oauth/v2/authorization',
    token: 'https://www.linkedin.com/oauth/v2/accessToken',
    profile: ['https://api.linkedin.com/v2/userinfo'],
  },
  notion: {
    authorize: 'https://api.notion.com/v1/oauth/authorize',
    token: 'https://api.notion.com/v1/oauth/token',
    profile: ['https://api.notion.com/v1/users/me'],
  },
  slack: {
    authorize: 'https://slack.com/openid/connect/authorize',
    token: 'https://slack.com/api/openid.connect.token',
    profile: ['https://slack.com/api/openid.connect.userInfo'],
  },
  snapchat: {
    authorize: 'https://accounts.snapchat.com/accounts/oauth2/auth',
    token: 'https://accounts.snapchat.com/accounts/oauth2/token',
    profile: ['https://kit.snapchat.com/v1/me'],
  },
  spotify: {
    authorize: 'https://accounts.spotify.com/authorize',
    token: 'https://accounts.spotify.com/api/token',
    profile: ['https://api.spotify.com/v1/me'],
  },
  twitch: {
    authorize: 'https://id.twitch.tv/oauth2/authorize',
    token: 'https://id.twitch.tv/oauth2/token',
    profile: ['https://api.twitch.tv/helix/users'],
  },
  twitter: {
    authorize: 'https://api.twitter.com/oauth/authenticate',
    token: 'https://api.twitter.com/oauth/access_token',
    profile: ['https://api.twitter.com/1.1/account/verify_credentials.json'],
  },
  workos: {
    authorize: 'https://api.workos.com/sso/authorize',
    token: 'https://api.workos.com/sso/token',
    profile: [],
  },
}

const definitionOf = (name: Provider): ProviderDefinition => definitions[name]

const settingsOf = (name: Provider): ProviderSettings => ({
  enabled: true,
  clientIds: ['c'],
  secret: 's',
  redirectUri: 'https://auth.example.com/callback',
  baseUrl: definitionOf(name).requiredBaseUrl === undefined ? undefined : REALM,
  emailOptional: false,
  skipNonceCheck: false,
})

describe('where providers are when no URL is set (docs/specification.md#providers)', () => {
  it.each(providers)('%s', async (name) => {
    const definition = definitionOf(name)
    const settings = settingsOf(name)
    const endpoint = endpointBelow(undefined)
    const { authorize, token, account } = definition.endpoints(endpoint, settings)
    const asked: string[] = []
    const call = {
      settings,
      endpoint,
      tokens: { accessToken: 't', refreshToken: undefined, response: {} },
      account: () => {
        asked.push(String(account))
        return Promise.resolve({})
      },
      // An empty answer has no subject, so the profile fails once every call is made.
      get: (url: string) => {
        asked.push(String(url.split('?')[0]))
        return Promise.resolve({})
      },
      idToken: () => Promise.resolve(undefined),
      callback: {},
    }
    await expect((async () => definition.profile(call))()).rejects.toThrow(/no subject|no id token/)
    expect({ authorize, token, profile: asked }).toEqual(addresses[name])
  })

  it('the URL of a provider that has a fixed one counts in tests only', async () => {
    const server = await startServer({
      ...providerEnv('google', 'https://elsewhere.example.com'),
      AUTH_ALLOW_PRIVATE_PROVIDER_URLS: 'false',
    })
    try {
      const { location } = await depart(server, 'google')
      expect(location.origin).toBe('https://accounts.google.com')
    } finally {
      await server.close()
    }
  })
})

describe('whose id tokens are a provider (docs/specification.md#providers)', () => {
  it.each<[Provider, string, boolean]>([
    ['apple', 'https://appleid.apple.com', true],
    ['apple', 'https://account.apple.com', true],
    ['apple', 'https://appleid.apple.com.evil.example', false],
    ['google', 'https://accounts.google.com', true],
    ['google', 'https://accounts.google.com/', false],
    ['facebook', 'https://www.facebook.com', true],
    ['snapchat', 'https://accounts.snapchat.com', true],
    ['snapchat', 'https://accounts.snapchat.com/accounts/oauth2/token', true],
    ['linkedin', 'https://www.linkedin.com/oauth', true],
    ['keycloak', REALM, true],
    ['keycloak', 'https://id.example.com/realms/other', false],
    ['azure', 'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0', true],
    ['azure', 'https://contoso.ciamlogin.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0', true],
    ['azure', 'https://login.microsoftonline.com/a/b/v2.0', false],
    ['azure', 'https://login.microsoftonline.com/9188040d/v2.0?x=/v2.0', false],
    ['azure', 'https://evil.example/login.microsoftonline.com/9188040d/v2.0', false],
    ['azure', 'https://login.microsoftonline.com.evil.example/9188040d/v2.0', false],
    ['azure', 'https://evil.example/.ciamlogin.com/9188040d/v2.0', false],
    ['azure', 'http://login.microsoftonline.com/9188040d/v2.0', false],
  ])('%s: %s is %s', (name, issuer, expected) => {
    expect(definitionOf(name).openId?.isIssuer(issuer, settingsOf(name))).toBe(expected)
  })

  const [TENANT, OTHER] = ['0b7c1f0e-7a35-4d8e-9f53-6f4f4f0f2a11', '5d1c4a8e-21aa-4f0b-8f47-0d1ed0f0c222']
  const PERSONAL = '9188040d-6c67-4c5b-b112-36a304b66dad'
  const MICROSOFT = 'https://login.microsoftonline.com'
  it.each([
    [`${MICROSOFT}/${TENANT}`, `${MICROSOFT}/${TENANT}/v2.0`, true],
    [`${MICROSOFT}/${TENANT}`, `${MICROSOFT}/${OTHER}/v2.0`, false],
    // Tokens name the person's tenant, never the URL that stands for many tenants.
    [`${MICROSOFT}/common`, `${MICROSOFT}/${TENANT}/v2.0`, true],
    [`${MICROSOFT}/common`, `${MICROSOFT}/${PERSONAL}/v2.0`, true],
    [`${MICROSOFT}/common`, `https://evil.example/${TENANT}/v2.0`, false],
    [`${MICROSOFT}/common`, `https://evil.ciamlogin.com/${TENANT}/v2.0`, false],
    [`${MICROSOFT}/organizations`, `${MICROSOFT}/${TENANT}/v2.0`, true],
    [`${MICROSOFT}/organizations`, `${MICROSOFT}/${PERSONAL}/v2.0`, false],
    [`${MICROSOFT}/consumers`, `${MICROSOFT}/${PERSONAL}/v2.0`, true],
    [`${MICROSOFT}/consumers`, `${MICROSOFT}/${TENANT}/v2.0`, false],
    // Issuers at ciamlogin.com may have the tenant's id as their host, too, whatever the tenant is called.
    [`https://contoso.ciamlogin.com/${TENANT}`, `https://${TENANT}.ciamlogin.com/${TENANT}/v2.0`, true],
    [`https://contoso.ciamlogin.com/${TENANT}`, `https://contoso.ciamlogin.com/${TENANT}/v2.0`, true],
    [`https://contoso.ciamlogin.com/${TENANT}`, `https://${OTHER}.ciamlogin.com/${OTHER}/v2.0`, false],
    [`https://contoso.ciamlogin.com/${TENANT}`, `https://${OTHER}.ciamlogin.com/${TENANT}/v2.0`, false],
    ['https://sign-in.example/common', `${MICROSOFT}/${TENANT}/v2.0`, false],
    ['https://sign-in.example/common', 'https://sign-in.example/common/v2.0', true],
  ])('azure: with the URL %s, %s is %s', (baseUrl, issuer, expected) => {
    const settings = { ...settingsOf('azure'), baseUrl }
    expect(definitions.azure.openId?.isIssuer(issuer, settings)).toBe(expected)
  })
})
