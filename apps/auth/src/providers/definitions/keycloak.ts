import { flagAt, oneEmail, otherMembers, subjectAt, textAt } from '../model/foreign-json.js'
import type { ProviderDefinition, ProviderProfile } from '../model/provider.js'

const MAPPED = [
  ...[
    'iss',
    'sub',
    'aud',
    'exp',
    'iat',
    'nbf',
    'nonce',
    'at_hash',
    'c_hash',
    'azp',
    'auth_time',
    'jti',
    'typ',
  ],
  ...[
    'email',
    'email_verified',
    'name',
    'preferred_username',
    'given_name',
    'family_name',
    'picture',
    'locale',
  ],
]

export const keycloak: ProviderDefinition = {
  label: 'Keycloak',
  guide: {
    register: 'The realm, Clients: OpenID Connect with client authentication and the redirect URI.',
    returns:
      'The userinfo call: `sub`, `email` with `email_verified`, `name`, `preferred_username`; all others in `custom_claims`.',
    tests: ['open-id', 'id-token'],
    quirks: [
      'The URL is required: `https://host/realms/<realm>`, in older releases `https://host/auth/realms/<realm>`.',
    ],
  },
  // Newer versions only answer the userinfo call if openid is among the scopes.
  scopes: ['profile', 'email', 'openid'],
  requiredBaseUrl: 'URL of the realm.',
  endpoints: (_endpoint, { baseUrl = '' }) => ({
    authorize: `${baseUrl}/protocol/openid-connect/auth`,
    token: `${baseUrl}/protocol/openid-connect/token`,
  }),
  openId: { isIssuer: (issuer, { baseUrl }) => issuer === baseUrl, idTokenGrant: true, profile: profileOf },
  async profile({ get, settings: { baseUrl = '' } }) {
    return profileOf(await get(`${baseUrl}/protocol/openid-connect/userinfo`))
  },
}

function profileOf(user: unknown): ProviderProfile {
  return {
    subject: subjectAt(user, 'sub'),
    emails: oneEmail(textAt(user, 'email'), flagAt(user, 'email_verified')),
    data: {
      iss: textAt(user, 'iss'),
      name: textAt(user, 'name'),
      preferred_username: textAt(user, 'preferred_username'),
      given_name: textAt(user, 'given_name'),
      family_name: textAt(user, 'family_name'),
      picture: textAt(user, 'picture'),
      locale: textAt(user, 'locale'),
      custom_claims: otherMembers(user, MAPPED),
    },
  }
}
